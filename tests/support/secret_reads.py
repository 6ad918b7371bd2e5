"""Who reads what is secret: the types that hold it note the module that each read comes from."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from dphist.counting.bounding.stores import Sets
from dphist.data.binned_counts import BinnedCounts
from dphist.data.guard import Guarded
from dphist.data.label_counts import LabelCounts
from dphist.data.partial import Partial
from dphist.data.profile import Profile
from dphist.ranges.counts import Counts
from dphist.streams.events.cutting import Events
from dphist.streams.events.forms import Event
from dphist.streams.events.users import UserEvents
from dphist.streams.state.state import Step, StreamState
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.label_cells import LabelCells

SECRET: dict[type, tuple[str, ...]] = {
    Profile: ("counts", "prevalences", "_cells", "_heights"),
    BinnedCounts: ("counts", "outside"),
    LabelCounts: ("_store", "_users", "_sets"),
    Sets: ("labels", "starts", "members", "singles", "places"),
    Partial: ("table",),
    Counts: ("counts", "outside"),
    KeyedCounts: ("cells", "counts", "labels"),
    LabelCells: ("labels", "places"),
    Event: ("labels", "user"),
    Events: ("codes", "vocabulary", "users", "user_codes"),
    UserEvents: ("salt", "counted"),
    Step: ("new_labels", "places", "counts", "users", "noise"),
    StreamState: ("labels", "places", "counts", "users", "marks", "noise"),
}
"""The fields of each type that hold what is secret."""

Reads = set[tuple[str, str]]
"""Pairs of a module, and what it read."""

# Methods of secret types, and functions that take such types apart: it is their callers who read.
_TRANSPARENT = (
    *("dphist.data.", "dphist.ranges.counts"),
    *("dphist.tables.keyed_counts", "dphist.tables.label_cells", "dphist.groups.grouped_counts"),
)
_DOOR = "dphist.data.open_data"
# Of these modules, functions that return data, or something public: they give out nothing secret.
_CLOSED = {
    *("__init__", "__post_init__"),
    *("from_table", "from_edges", "read", "merge", "partial", "bin_counts", "from_uhi"),
    *("from_counts", "from_prevalences", "promised"),
    *("label_type", "bounds_in_text", "has_sets", "has_users"),
}
# Functions that make data of rows and not of numbers that their callers have.
_COUNTING = {"from_table", "from_edges", "read", "merge", "bin_counts"}


class _Watched:
    """A field of a secret type that notes who reads it."""

    def __init__(self, owner: type, name: str, note: Callable[[object, str], None]) -> None:
        self._name, self._note = name, note
        self._what = f"{owner.__name__}.{name}"
        slots = (each.__dict__.get(name) for each in owner.__mro__)
        self._slot: Any = next((slot for slot in slots if hasattr(slot, "__set__")), None)

    def __get__(self, holder: Any, _: type | None = None) -> Any:
        if holder is None:
            return self
        self._note(holder, self._what)
        return holder.__dict__[self._name] if self._slot is None else self._slot.__get__(holder)

    def __set__(self, holder: Any, value: Any) -> None:
        if self._slot is None:
            holder.__dict__[self._name] = value
        else:
            self._slot.__set__(holder, value)


def _frames() -> Iterator[tuple[str, FrameType]]:
    """Yield modules and frames, the innermost first, from those of dphist to that of a test."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("tests.") and module != __name__:
            return
        if module.startswith("dphist.") and module != "dphist.signals":
            yield module, frame
        frame = frame.f_back


def _is_transparent(module: str) -> bool:
    return module.startswith(_TRANSPARENT) and module != _DOOR


def _reader() -> str | None:
    """Return the module of dphist to which a read gives something secret, if there is one."""
    for module, frame in _frames():
        if not _is_transparent(module):
            return module
        if frame.f_code.co_name in _CLOSED:
            return None
    return None


def _made_of_numbers_by() -> str | None:
    """Return the module of dphist that makes data of numbers it has; None if rows are counted."""
    for module, frame in _frames():
        if not _is_transparent(module):
            return module
        if frame.f_code.co_name in _COUNTING:
            return None
    return None


@contextmanager
def watch_reads(base: frozenset[str]) -> Iterator[Reads]:
    """Note all reads of secret contents within the block, by modules of dphist.

    What a module outside the base makes data of is public: it has not read a secret, or that read
    was noted.

    Parameters
    ----------
    base : the modules of the trusted base.
    """
    reads: Reads = set()
    public: dict[int, object] = {}  # the objects too, so that no other one gets the same id

    def note(holder: object, what: str) -> None:
        if id(holder) not in public and (reader := _reader()) is not None:
            reads.add((reader, what))

    def making(made: Callable[..., None]) -> Callable[..., None]:
        def make(data: object, *given: Any, **named: Any) -> None:
            maker = _made_of_numbers_by()
            if maker is not None and maker not in base:
                public[id(data)] = data
            made(data, *given, **named)

        return make

    def opening(guarded: Guarded, ledger: str, open_for: Any = Guarded.open_for) -> Any:
        note(guarded, "Guarded.open_for")
        return open_for(guarded, ledger)

    with pytest.MonkeyPatch.context() as patch:
        for owner, names in SECRET.items():
            for name in names:
                patch.setattr(owner, name, _Watched(owner, name, note), raising=False)
        for owner in (Profile, Counts):
            patch.setattr(owner, "__init__", making(owner.__init__))
        patch.setattr(Guarded, "open_for", opening)
        yield reads
