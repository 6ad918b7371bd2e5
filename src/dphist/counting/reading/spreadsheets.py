"""Spreadsheets in .xlsx, read by python-calamine.

A sheet has no types of columns: each cell has a type of its own. Its numbers are floats, so that of
whole numbers from 2**53 on, two may have become one. They are refused as keys and counts.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Wanted, make_repeated_column_error
from dphist.counting.reading.fields import GivenRows, NumberedRows
from dphist.counting.reading.sheet_form import check_sheet, find_sheets
from dphist.errors import Argument, ColumnError, InputFileError, ParameterError, UnsupportedError

_EXACT = 2**53
_MOST_BYTES = 2**32
_TOO_LARGE = "unpacks to more than 4 GiB: save its sheet as a text file"


def read_spreadsheet(
    path: Path, sheet: str | None, wanted: Sequence[Wanted], shown: str
) -> GivenRows:
    """Return the rows of a sheet, of which the first names the columns.

    A row of which every cell is empty is no record, wherever it stands.

    Parameters
    ----------
    sheet : name of the sheet; None if the file has but one.

    Raises
    ------
    UnsupportedError
        If python-calamine is not installed.
    InputFileError
        If the file is damaged or no spreadsheet, its reader would lose cells, or a cell of a wanted
        column has an error, or a formula whose result was not saved.
    ParameterError
        If there is no such sheet, or none is named of several.
    ColumnError
        If a column is missing or occurs twice. The first row may be a record: it is not shown.
    """
    failure = InputFileError(f"{shown} must be a spreadsheet: it cannot be read as one")
    rows, without_value = redact_errors(lambda: _read_rows(path, sheet, shown), failure)
    header = rows[0] if rows else []
    positions = [_find_column(column.name, header, shown) for column in wanted]
    for column, position in zip(wanted, positions, strict=True):
        if position in without_value:
            raise InputFileError(
                f"row {without_value[position]:,} of {shown} must have, in column "
                f"{column.name!r}, no error such as #N/A, and no formula without a saved result: "
                "correct it, and save it with a spreadsheet program"
            )
    names = [name for name in header if isinstance(name, str) and name]
    return GivenRows(names, _find_records(rows, positions), "row")


def _read_rows(path: Path, sheet: str | None, shown: str) -> tuple[list[list[Any]], dict[int, int]]:
    """Return the cells of a sheet from its first row on, and what `check_sheet` returns."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise UnsupportedError(
            "to read spreadsheets, python-calamine is needed: install dphist[excel]"
        )
    with zipfile.ZipFile(path) as parts:
        _check_parts(parts, shown)
        sheets = find_sheets(parts)
        name = _find_sheet(list(sheets), sheet, shown)
        without_value = check_sheet(parts, sheets[name], shown)
    # By its content: of a path, the reader would go by the ending.
    with path.open("rb") as file, CalamineWorkbook.from_filelike(file) as book:
        if book.sheet_names != list(sheets):
            raise ValueError
        found = book.get_sheet_by_name(name)
        return list(found.to_python(skip_empty_area=False)), without_value


def _find_sheet(names: Sequence[str], sheet: str | None, shown: str) -> str:
    if sheet is None and len(names) != 1:
        raise ParameterError("sheet", f"must name one of the {len(names)} sheets of {shown}")
    if sheet is not None and sheet not in names:
        raise ParameterError("sheet", f"must name a sheet of {shown}, which has no {sheet!r}")
    return names[0] if sheet is None else sheet


def _check_parts(parts: zipfile.ZipFile, shown: str) -> None:
    """Refuse a file of which a part is damaged: the reader does not look at checksums.

    What it reads ends with the mark of the last row, and a damaged part may have one too early.
    """
    if sum(part.file_size for part in parts.infolist()) > _MOST_BYTES:
        raise InputFileError(f"{shown} {_TOO_LARGE}")
    if parts.testzip() is not None:
        raise InputFileError(f"{shown} is damaged: save it again")


def _find_column(wanted: str, header: Sequence[Any], shown: str) -> int:
    if header.count(wanted) > 1:
        raise make_repeated_column_error(wanted)
    if wanted in header:
        return header.index(wanted)
    raise ColumnError(
        f"the first row of {shown} must name the columns, as text, but names no {wanted!r}: "
        "correct the name, add a row of names, or give " + Argument("sheet")
    )


def _find_records(rows: Sequence[Sequence[Any]], positions: Sequence[int]) -> NumberedRows:
    for number, row in enumerate(rows[1:], 2):
        if any(cell != "" for cell in row):
            yield number, [_to_value(row[position]) for position in positions]


def _to_value(cell: Any) -> Any:
    """Return the value of a cell: a number without a fraction is whole if floats are exact there.

    >>> _to_value(17.0), _to_value(17.5), _to_value(2.0**53), _to_value(""), _to_value(True)
    (17, 17.5, 9007199254740992.0, None, True)
    """
    if cell == "":
        return None
    if type(cell) is float and cell.is_integer() and abs(cell) < _EXACT:
        return int(cell)
    if type(cell) is int and abs(cell) >= _EXACT:
        return float(cell)
    return cell
