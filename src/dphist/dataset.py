"""A data set described once, in a file that is public: where it is, its users, their bounds."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dphist.counting.engine.progress import Progress
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.errors import InputFileError, ParameterError
from dphist.foreign import read_toml
from dphist.ledger.ledger import Ledger
from dphist.parameters import whole_number
from dphist.tables import KeyedCounts

_LARGEST = 10**6  # bytes
_BOUNDS = ("max_labels", "max_count", "max_records", "max_rows")
_TEXTS = ("user", "unit", "ledger", "null_users")
_KEYS = ("files", *_TEXTS, *_BOUNDS)
_NULL_USERS = ("refuse", "drop", "separate")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as its owner describes it: who is protected, and the largest bounds.

    Make one with `open`. It reads no data; its methods do. What is given to a method may be
    stricter than the file, never weaker: a smaller bound, or ``null_users="drop"`` where the file
    says "separate". Users and unit cannot be changed. With a ledger in the file, only that ledger
    releases what is counted (see `Ledger.guard`).

    Attributes
    ----------
    path : of the description.
    facts : its keys and values.
    """

    path: str
    facts: Mapping[str, Any] = field(repr=False)

    @classmethod
    def open(cls, path: str | Path) -> "Dataset":
        """Read a description: a TOML file, see docs/guides/dataset.md. No data are read.

        Raises
        ------
        InputFileError
            If the file cannot be read, or is no TOML.
        ParameterError
            If a key is unknown, missing, or has a wrong value.
        """
        facts = _read_facts(Path(path))
        try:
            _check_facts(facts)
        except ParameterError as error:
            raise error.within(f"{path}: ") from None
        return cls(str(path), MappingProxyType(facts))

    @property
    def digest(self) -> str:
        """SHA-256 of the facts, whatever their order and layout in the file; not of any data."""
        facts = json.dumps(dict(self.facts), sort_keys=True)
        return f"sha256:{hashlib.sha256(facts.encode()).hexdigest()}"

    def labels(
        self,
        label: str,
        *,
        max_labels: int | None = None,
        max_count: int | None = None,
        null_users: str | None = None,
        null_labels: str = "refuse",
        progress: Progress | None = None,
    ) -> LabelCounts:
        """Count labels; parameters as for `LabelCounts.from_table` (default: as the file says).

        Without ``max_count`` in the file, it is 1.
        """
        return LabelCounts.from_table(
            label=label,
            max_labels=self._bound("max_labels", max_labels),
            max_count=self._bound("max_count", max_count, 1),
            null_labels=null_labels,
            **self._give(null_users, progress),
        )

    def profile(
        self,
        label: str,
        *,
        max_records: int | None = None,
        null_users: str | None = None,
        progress: Progress | None = None,
    ) -> Profile:
        """Count how many labels have each count; parameters as for `Profile.from_table`."""
        return Profile.from_table(
            label=label,
            max_records=self._bound("max_records", max_records),
            **self._give(null_users, progress),
        )

    def tables(
        self,
        keys: Any,
        *,
        max_rows: int | None = None,
        null_users: str | None = None,
        unlisted: str = "error",
        progress: Progress | None = None,
    ) -> KeyedCounts:
        """Count rows by several keys; parameters as for `KeyedCounts.from_table`."""
        return KeyedCounts.from_table(
            keys=keys,
            max_rows=self._bound("max_rows", max_rows),
            unlisted=unlisted,
            **self._give(null_users, progress),
        )

    def ledger(self) -> Ledger:
        """Open the ledger that the file names."""
        if "ledger" not in self.facts:
            raise ParameterError("ledger", f"is not in {self.path}: add it there")
        return Ledger.open(self._locate(self.facts["ledger"]))

    def _bound(self, name: str, asked: int | None, default: int | None = None) -> int:
        """Return the bound that was asked for, if the file allows it, or that of the file."""
        most = self.facts.get(name, default)
        if asked is None and most is None:
            raise ParameterError(name, f"must be given, or stand in {self.path}")
        if asked is None:
            return int(most)
        whole_number(asked, name, 1)
        if most is not None and asked > most:
            where = f"as {self.path} says" if name in self.facts else f"unless {self.path} has it"
            raise ParameterError(name, f"must be at most {most}, {where}, and is {asked}")
        return asked

    def _give(self, null_users: str | None, progress: Progress | None) -> dict[str, Any]:
        """Return the parameters that all kinds of counts share."""
        stated = self.facts.get("null_users", "refuse")
        asked = stated if null_users is None else null_users
        if asked != stated and (stated, asked) != ("separate", "drop"):
            allowed = '"separate" or "drop"' if stated == "separate" else f'"{stated}"'
            raise ParameterError("null_users", f"must be {allowed}, as {self.path} says")
        files = self.facts["files"]
        located = [self._locate(each) for each in ([files] if isinstance(files, str) else files)]
        return {
            "frame": located[0] if isinstance(files, str) else located,
            "user": self.facts["user"],
            "unit": self.facts.get("unit"),
            "null_users": asked,
            "progress": progress,
            "ledger": self.ledger() if "ledger" in self.facts else None,
        }

    def _locate(self, place: str) -> str:
        """Return a path from the folder of the description; an address as it is."""
        return place if "://" in place else str(Path(self.path).parent / place)


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError:
        raise InputFileError(f"{path} cannot be read; name a TOML file") from None
    if len(content) > _LARGEST:
        raise InputFileError(f"{path} must be a TOML file of at most 1 MB")
    try:
        return read_toml(content)
    except ValueError as error:
        raise InputFileError(f"{path} must be a TOML file (UTF-8): {error}") from None


def _check_facts(facts: Mapping[str, Any]) -> None:
    for name in facts:
        if name not in _KEYS:
            close = difflib.get_close_matches(name, _KEYS, n=1)
            one = f"did you mean {close[0]}?" if close else f"it may have {', '.join(_KEYS)}"
            raise ParameterError(name, f"is not a key of a data set; {one}")
    for name in ("files", "user"):
        if name not in facts:
            raise ParameterError(name, f'is missing: add {name} = "..."')
    files = facts["files"]
    several = isinstance(files, list) and bool(files)
    if not all(_is_text(each) for each in (files if several else [files])):
        raise ParameterError("files", "must be a path, or a list of paths")
    for name in _TEXTS:
        if name in facts and not _is_text(facts[name]):
            raise ParameterError(name, "must be text in quotes")
    for name in _BOUNDS:
        if name in facts:
            whole_number(facts[name], name, 1)
    if facts.get("null_users", "refuse") not in _NULL_USERS:
        raise ParameterError("null_users", 'must be "refuse", "drop" or "separate"')


def _is_text(value: object) -> bool:
    """Whether a value is text; a number with a point is read as another kind of text."""
    return type(value) is str and value != ""
