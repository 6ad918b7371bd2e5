"""Values of spreadsheets, JSON and databases, written as the fields of a private text file.

Such files say nothing of the type of a column, or nothing that holds for all of its values. So each
value is written by itself, by a rule that its column's use determines, as the field that a text
file of the same rows would have. The copy is then read like any text file: keys are text, and which
of them are equal is decided there. A value that no rule writes is a record that is invalid in
itself.
"""

import datetime
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from dphist.counting.reading.columns import Use, Wanted
from dphist.counting.reading.file_format import Container, FileFormat
from dphist.counting.reading.objects import write_decimal, write_instant
from dphist.counting.reading.records import LONGEST
from dphist.errors import DphistError, InputFileError

NumberedRows: TypeAlias = Generator[tuple[int, Sequence[Any]], None, None]

COPY_FORMAT = FileFormat(Container.TEXT, ",")
"""The format of a copy."""

_MARK = "\ufeff"  # a name of a column that begins with it would lose it
_ROWS_AT_ONCE = 10_000
_QUOTED = frozenset(',"\r\n')
_FORMS = {
    Use.KEY: "text, a whole number (in a spreadsheet, below 2**53), a truth value or a date",
    Use.COUNT: "a whole number (in a spreadsheet, below 2**53)",
    Use.VALUE: "a number, a date or the text of one",
    Use.TEXTS: "text",
}


class RealNumber(str):
    """The digits of a number with a point or an exponent."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows of a file that is no text file.

    Attributes
    ----------
    names : of all columns, as far as the file has a list of them, or of the wanted ones.
    rows : each with its number, and the values of the wanted columns.
    called : what a row is called in an error, as "line"; empty if its number says nothing.
    error : the class of errors of its rows.
    """

    names: Sequence[str]
    rows: NumberedRows
    called: str
    error: type[DphistError] = InputFileError


def write_copy(target: Path, given: GivenRows, wanted: Sequence[Wanted], shown: str) -> None:
    """Write rows as a text file with the wanted columns.

    Raises
    ------
    DphistError
        Of the class of `given`, if a value cannot be a field of its column, or a row is too long
        for a text file.
    """
    uses = [column.use for column in wanted]

    def write(number: int, values: Sequence[Any]) -> bytes:
        fields = [to_field(value, use) for value, use in zip(values, uses, strict=True)]
        if None in fields:
            column = wanted[fields.index(None)]
            raise _fault(given, number, shown, f"in column {column.name!r}, {_FORMS[column.use]}")
        line = ",".join(fields).encode()  # type: ignore[arg-type]
        if len(line) > LONGEST:
            raise _fault(given, number, shown, f"at most {LONGEST:,} bytes")
        return line

    with closing(given.rows), target.open("xb") as file:
        header = _MARK + ",".join(_quote(column.name) for column in wanted)
        lines = [header.encode()]
        for number, values in given.rows:
            lines.append(write(number, values))
            if len(lines) == _ROWS_AT_ONCE:
                file.write(b"\n".join([*lines, b""]))
                lines.clear()
        file.write(b"\n".join([*lines, b""]))


def to_field(value: Any, use: Use) -> str | None:
    """Return a value as a field of a text file, quoted where that is needed; None if it is unfit.

    A missing value is an empty field, and an empty text a quoted one.

    >>> [to_field(value, Use.KEY) for value in ("a,b", 7, 7.5, True, "", None)]
    ['"a,b"', '7', None, 'true', '""', '']
    """
    if value is None:
        return ""
    kind = type(value)
    if kind is str:
        return _quote(value) if value.isascii() or _is_encodable(value) else None
    if use is Use.TEXTS:
        return None
    if kind is int:
        return str(value)
    if kind is Decimal:
        return _decimal(value, use)
    if use is Use.COUNT:
        return None
    if kind is datetime.datetime:
        return write_instant(value)
    if kind is datetime.date:
        return str(value.isoformat())
    if use is Use.VALUE:
        return str(value) if kind is RealNumber else repr(value) if kind is float else None
    if kind is bool:
        return "true" if value else "false"
    if kind is UUID:
        return str(value)
    return value.hex() or '""' if kind is bytes else None


def _decimal(value: Decimal, use: Use) -> str | None:
    """Return a decimal as a field: equal ones as the same text, if they are keys."""
    if use is Use.VALUE:
        return str(value)
    if not value.is_finite():
        return None
    text = write_decimal(value)
    return text if use is Use.KEY or text.isdigit() else None


def _quote(text: str) -> str:
    if text and _QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _fault(given: GivenRows, number: int, shown: str, form: str) -> DphistError:
    where = f"{given.called} {number:,} of {shown}" if given.called else f"each row of {shown}"
    return given.error(f"{where} must have {form}: correct it")
