"""What a run of a mechanism shows: what it returns, prints, warns of or raises."""

import io
import sys
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from operator import sub
from types import NoneType
from typing import Any, NamedTuple, Self

import numpy as np

from dphist.document.kind import find_kind_of_value
from dphist.lab.auditing.subject import SilentProgramError
from dphist.release.release import Release


class Shown(NamedTuple):
    """What a run returned, or the error it raised, and what it said beside that."""

    result: Any
    error: str
    warned: str
    printed: str
    logged: str


class Watch:
    """Keeps what runs say. It stays open for many: to open it takes longer than most runs."""

    def __enter__(self) -> Self:
        self._output = sys.stdout, sys.stderr
        self._stack = ExitStack()
        try:
            self._listen()
        except BaseException:  # an interrupt
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._output
        self._stack.close()

    def _listen(self) -> None:
        self._warned = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        self._filters, self._show = list(warnings.filters), warnings.showwarning

    def see(self, run: Callable[[Any], Any], data: Any) -> Shown:
        """Run once and return everything that somebody could see of it."""
        if warnings.filters != self._filters or warnings.showwarning is not self._show:
            self._stack.close()  # an earlier run has left them changed
            self._listen()
        sys.stdout, sys.stderr = out, err = io.StringIO(), io.StringIO()
        result, error = None, ""
        try:
            result = run(data)
        except SilentProgramError:  # no outcome: the program cannot be audited so
            raise
        except Exception as raised:  # whatever it is, it was shown
            error = f"{type(raised).__name__}: {raised}"
        said = "; ".join(str(each.message) for each in self._warned)
        self._warned.clear()
        return Shown(result, error, said, out.getvalue(), err.getvalue())


def watch_run(run: Callable[[Any], Any], data: Any) -> Shown:
    """Run once and return everything that somebody could see of it."""
    with Watch() as watch:
        return watch.see(run, data)


Features = dict[str, Hashable]
"""What an outcome is like, by name: numbers are compared, everything else is equal or not."""

_PLAIN = frozenset({bool, dict, float, int, list, NoneType, str, tuple})
_POSITIONS = 48
_LABELS = 300
_EMPTY = ("None", "{}")
_WHOLE = 400  # longest text of an outcome that is compared as a whole


def list_features(shown: Shown) -> Features:
    """Return the features of all that somebody could see of a run.

    A run that raises an error has shown its message. What a process writes below Python, and how
    long it takes, is not looked at.
    """
    found: Features = {}
    if shown.error:
        found["the error"] = shown.error
    else:
        _add(found, "the outcome", plain(shown.result), 0)
    for name, text in (
        ("the warnings", shown.warned),
        ("what is printed", shown.printed),
        ("what is logged", shown.logged),
    ):
        if text:
            found[name] = text
    return found


def capture_run(run: Callable[[Any], Any], data: Any) -> Hashable:
    """Run once, and return all that somebody could see of it as one value to be compared."""
    return make_comparable(watch_run(run, data))


def make_comparable(shown: Shown) -> Hashable:
    """Return all that a run has shown as one value to be compared."""
    return shown.error or _whole(shown.result), shown.warned, shown.printed, shown.logged


def _whole(value: Any) -> Hashable:
    value = plain(value)
    if isinstance(value, Mapping):
        return ("mapping", *((repr(key), _whole(each)) for key, each in value.items()))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(_whole(each) for each in value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return (type(value).__name__, *(_whole(each) for each in value))
    return repr(value)


def describe_outcome(whole: Hashable) -> str:
    """Return what `capture_run` returned, as text to be read."""
    result, *said = whole if isinstance(whole, tuple) else (whole,)
    return f"the outcome is {_text(result)}" + "".join(f", with {each!r}" for each in said if each)


def _text(whole: Any) -> str:
    if not isinstance(whole, tuple):
        return str(whole)
    kind, *parts = whole
    if kind == "mapping":
        kept = [f"{key}: {_text(each)}" for key, each in parts if _text(each) not in _EMPTY]
        return f"{{{', '.join(kept)}}}"
    items = sorted(map(_text, parts[0])) if kind == "set" else [_text(each) for each in parts]
    return f"[{', '.join(items)}]"


def plain(value: Any) -> Any:
    """Return a value as numbers, text, sequences and mappings."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Release):
        released = ("value", "total", "noisy", "provenance")
        return {name: getattr(value, name) for name in released}
    kind = find_kind_of_value(value)
    if kind is not None and kind.auditing is not None and kind.auditing.compared is not None:
        return kind.auditing.compared(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    if hasattr(value, "to_pylist"):  # Arrow
        return value.to_pylist()
    if hasattr(value, "to_dict"):  # dataframes
        return value.to_dict()
    return value


def _add(found: Features, name: str, value: Any, depth: int) -> None:
    kind = type(value)
    if kind is int or kind is str:  # most values are one of these, or a float
        found[name] = value
        return
    if kind is not float and kind is not list and kind is not dict:
        value = plain(value)
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        _add_number(found, name, value)
    elif kind is dict or isinstance(value, Mapping):
        _add_mapping(found, name, value, depth)
    elif kind is list or (
        isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)
    ):
        _add_sequence(found, name, list(value), depth)
    else:
        found[name] = value if isinstance(value, str) else repr(value)  # True is not 1 here


def _add_number(found: Features, name: str, value: float | Fraction) -> None:
    if value != value:
        found[name] = "not a number"
        return
    found[name] = value
    if not isinstance(value, float):
        return
    if value == 0 and repr(value) == "-0.0":
        found[f"the sign of the zero in {name}"] = "minus"
    if not value.is_integer() and abs(value) != float("inf"):
        # Of noise made from floats, sums fall between numbers that others cannot reach.
        found[f"the number of binary digits after the point of {name}"] = (
            value.as_integer_ratio()[1].bit_length() - 1
        )


def _add_mapping(found: Features, name: str, value: Mapping[Any, Any], depth: int) -> None:
    found[f"the number of entries of {name}"] = len(value)
    for key, each in list(value.items())[:_LABELS]:
        _add(found, f"{name}, at {key!r}" if depth else f"{key} of {name}", each, depth + 1)
    if depth:
        found[f"the order of {name}"] = repr(list(value))[:_WHOLE]


def _add_sequence(found: Features, name: str, items: list[Any], depth: int) -> None:
    names = _names(name)
    found[names.length] = len(items)
    kinds = {*map(type, items)}
    if kinds and all(issubclass(kind, int | float | Fraction) for kind in kinds):
        _add_numbers(found, names, items, whole=kinds == {int})
    elif kinds and all(issubclass(kind, str | NoneType) for kind in kinds):
        for each in dict.fromkeys(items[:_LABELS]):
            found[f"{each!r} in {name}"] = "yes"
    if kinds <= {int, str}:
        found.update(zip(names.items, items, strict=False))
    else:
        for item, each in zip(names.items, items, strict=False):
            _add(found, item, each, depth + 1)
    text = repr(items) if len(items) <= _POSITIONS else ""
    if text and len(text) <= _WHOLE:
        found[name] = text


class _Names:
    """What the features of a sequence are called: made once, as it takes longer than a run."""

    def __init__(self, name: str) -> None:
        self.length = f"the length of {name}"
        self.items = [f"{name}, item {place + 1}" for place in range(_POSITIONS)]
        self.numbers = [
            f"the sum of {name}",
            f"the largest of {name}",
            f"the smallest of {name}",
            f"the place of the largest of {name}",
            f"the last of {name}",
            f"the number of zeros of {name}",
            f"the number of different values of {name}",
            *(f"item {k + 2} less item {k + 1} of {name}" for k in range(_POSITIONS - 1)),
        ]


_names = lru_cache(1024)(_Names)


def _add_numbers(found: Features, names: _Names, items: list[Any], *, whole: bool) -> None:
    largest = max(items)
    told = [
        sum(items),
        largest,
        min(items),
        items.index(largest) + 1,
        items[-1],
        items.count(0),
        len({*items}),
        # Noise that is drawn once for two numbers leaves their difference bare.
        *map(sub, items[1:_POSITIONS], items),
    ]
    if not whole:  # events compare numbers, and NaN is equal to none
        told = ["not a number" if value != value else value for value in told]
    found.update(zip(names.numbers, told, strict=False))
