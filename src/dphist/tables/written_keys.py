"""Keys as they are written: on a command line, and in the description of a data set."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dphist.data.axis.axis import Axis
from dphist.document.options import split_parts
from dphist.errors import Argument, InputFileError, ParameterError
from dphist.foreign import read_text, refuse_header
from dphist.parameters import read_number, read_whole_number
from dphist.tables.discover_keys import MAX_FOUND, DiscoverKeys
from dphist.tables.keys import Key, Keys

_BOUND_TEXT = re.compile(r"[+-]?[0-9][-+.0-9eE]*")  # a number or a date
_INFINITE = ("inf", "+inf", "-inf")


def read_keys(texts: Sequence[str | Key], other: Sequence[str] | None) -> Keys:
    """Read keys as they are typed; a key of a description is one already.

    Raises
    ------
    ParameterError, InputFileError

    >>> read_keys(["sex=f,m", "age=0:100:50", "year=2019,2020"], ["sex"])
    {'sex': ['f', 'm', 'other'], 'age': 2 bins from 0 to 100, 'year': [2019, 2020]}
    """
    found: dict[str, Any] = {}
    for text in texts:
        if isinstance(text, Key):
            name, equals, values = text.name, "=", "described"
        else:
            name, equals, values = text.partition("=")
        if not name or not equals or not values:
            raise ParameterError("keys", "must be written as NAME=VALUES, such as sex=f,m")
        if name in found:
            raise ParameterError("keys", f"must give each column once: {name!r} is given twice")
        found[name] = text if isinstance(text, Key) else _read_values(name, values)
    return Keys.read(found, other or ())


def _read_values(name: str, text: str) -> Any:
    if text.startswith("@"):
        return _read_sort(_read_lines(text[1:], name))
    if text.startswith("text:"):
        return _read_listed(name, text.removeprefix("text:"))
    if text.partition(":")[0] == "discover":
        return _read_discovery(name, text.split(":")[1:])
    axis = _read_bins(name, text)
    if axis is not None:
        return axis
    listed = _read_listed(name, text)
    if any(":" in each and all(map(_BOUND_TEXT.fullmatch, each.split(":"))) for each in listed):
        raise ParameterError(
            "keys",
            f"must give {name!r} bins as START:STOP:WIDTH, or values",
            f"write {name}=text:A,B,C if these are texts",
        )
    return _read_sort(listed)


def _read_bins(name: str, text: str, tz: str | None = None) -> Axis | None:
    """Read bins as START:STOP:WIDTH or edges:E0,E1,...; None if it is neither."""
    bounds = text.split(":")
    try:
        if bounds[0] == "edges":
            edges = [read_edge(part) for part in split_parts(":".join(bounds[1:]))]
            return Axis.from_edges(edges, tz=_choose_zone(edges[0], tz))
        if len(bounds) == 3 and "," not in text:
            start, stop, width = map(read_edge, bounds)
            return Axis.regular(start, stop, width, tz=_choose_zone(start, tz))
    except ParameterError as error:
        form = "edges:E0,E1,..." if bounds[0] == "edges" else "START:STOP:WIDTH"
        raise ParameterError("keys", f"must give {name!r} bins as {form}: {error}") from None
    return None


def _choose_zone(edge: Any, tz: str | None) -> str | None:
    """Return the time zone of edges that are dates; numbers have none."""
    return tz if isinstance(edge, str) else None


def read_described_key(name: str, value: Any, folder: Path, tz: str | None) -> Key:
    """Read a key of a description.

    Parameters
    ----------
    value : a list of values; or a text, which is bins, or the name of a file after "@".
    folder : of the description, from which the file is named.
    tz : time zone of bins between dates.

    Raises
    ------
    ParameterError, InputFileError
    """
    if isinstance(value, list) and all(type(each) in (str, int, bool) for each in value):
        held: Any = value
    elif type(value) is str and value.startswith("@"):
        held = _read_sort(_read_lines(str(folder / value[1:]), name))
    else:
        held = _read_bins(name, value, tz) if type(value) is str else None
    if held is None:
        raise ParameterError(
            "keys",
            f"must give {name!r} as a list of texts, whole numbers or truth values, as "
            '"START:STOP:WIDTH" or "edges:E0,E1,...", or as "@FILE" with one value a line',
        )
    return Keys.read({name: held})[name]


def _read_discovery(name: str, parts: list[str]) -> DiscoverKeys:
    """Read how values are found, as SHARE or SHARE:N."""
    fault = f"must find values of {name!r} as discover:SHARE or discover:SHARE:N"
    most = read_whole_number(parts[1]) if len(parts) == 2 else MAX_FOUND
    if len(parts) not in (1, 2) or most is None:
        raise ParameterError("keys", fault, f"write {name}=text:A,B,C if these are texts")
    try:
        return DiscoverKeys(share=parts[0], max_found=most)
    except ParameterError as error:
        raise ParameterError("keys", f"{fault}: {error}") from None


def _read_listed(name: str, text: str) -> list[str]:
    """Return values with commas between them; a value of no letters would be a slip of the hand."""
    listed = split_parts(text)
    if not all(listed):
        raise ParameterError(
            "keys",
            f"must list values of {name!r} that are not empty",
            "leave out the comma; rows without a value are counted with " + Argument("other"),
        )
    return listed


def read_edge(text: str) -> Any:
    """Read a number, or that an edge is infinite; leave all else, such as dates, as text."""
    if text in _INFINITE:
        return float(text)
    number = read_whole_number(text)
    real = read_number(text) if number is None else number
    return text if real is None else real


def _read_sort(texts: list[str]) -> list[Any]:
    """Return whole numbers or truth values if all texts write these; otherwise the texts."""
    numbers = [read_whole_number(text) for text in texts]
    if all(str(number) == text for number, text in zip(numbers, texts, strict=True)):
        return numbers
    if {*texts} <= {"true", "false"} or {*texts} <= {"True", "False"}:
        return [text in ("true", "True") for text in texts]
    return texts


def _read_lines(path: str, name: str) -> list[str]:
    problem = InputFileError(f"{path} must be a text file (UTF-8) with one value of a key a line")
    try:
        text = read_text(Path(path).read_bytes())
    except FileNotFoundError:
        raise InputFileError(f"{path}, with the values of a key, does not exist") from None
    except (OSError, ValueError):
        raise problem from None
    lines = [line for line in text.removeprefix("\ufeff").splitlines() if line.strip()]
    if not lines:
        raise problem
    refuse_header(path, lines[0], name)
    return lines
