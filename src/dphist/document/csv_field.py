"""A label as a field of a CSV file."""

import re
from collections.abc import Callable
from typing import TypeAlias

Field: TypeAlias = Callable[[str | None], str]

MARK = "\ufeff"
"""Begins a file for spreadsheets: without it, Excel reads UTF-8 as another encoding."""

_SPECIAL = frozenset(',"\r\n')
# Where a spreadsheet that expects another separator may begin a cell, whatever is quoted.
_BEGINS = re.compile(r"(?<![^;\t\r\n])[^;\t\r\n]*")


def csv_field(label: str | None) -> str:
    """Write a label; a missing one as nothing.

    Also quoted are the empty text, and labels that begin or end with white space: programs that
    read CSV often drop these.

    >>> [csv_field(label) for label in ("tea", "", " milk", "a,b", None)]
    ['tea', '""', '" milk"', '"a,b"', '']
    """
    if label is None:
        return ""
    if label.strip() == label != "" and _SPECIAL.isdisjoint(label):
        return label
    return _quote(label)


def safe_field(label: str | None) -> str:
    """Write a label so that a spreadsheet shows it, and reads it as no formula, number or date.

    It is quoted. An apostrophe stands ahead of it unless it begins with a letter and has no digit.
    The same holds for each part of it that follows a semicolon, tab or line ending, where programs
    that expect another separator begin a cell. Which other labels a spreadsheet runs or changes
    depends on the program, its language and its settings.

    >>> print(*[safe_field(label) for label in ("tea", "=1+1", "007", "MARCH1", "'a", "a;b;=1")])
    "tea" "'=1+1" "'007" "'MARCH1" "''a" "a;b;'=1"
    """
    return "" if label is None else _quote(_BEGINS.sub(_as_text, label))


def _as_text(part: re.Match[str]) -> str:
    text = part[0]
    is_plain = text[:1].isalpha() and not any(map(str.isdigit, text))
    return text if is_plain else f"'{text}"


def _quote(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
