"""A released table as an .xlsx workbook: a sheet for each table, and one that says how to read it.

No cell is a formula or a link, whatever a label is: texts are written as texts, numbers as numbers.
XlsxWriter is imported only where a workbook is written.
"""

import io
import math
import re
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.document.blocks import PAGE, Block, Document, Fact, Note
from dphist.document.csv_rows import write_column
from dphist.document.small_counts import NO_PICTURES, find_small, leave_out_small, write_below
from dphist.errors import DphistError
from dphist.render.text import count_columns, in_one_line
from dphist.sentence import fill

GUIDE = "How to read this"
"""The name of the last sheet."""
_LEFT_OUT = ("population", "disclosure", "again")  # sections of pages, which are about more
_HEADINGS = {"error": "standard error", "low": "low (95 %)", "high": "high (95 %)"}
_ROWS = 2**20 - 1  # of a sheet, without the headings
_EXACT = 2**53  # spreadsheets hold numbers as floats: larger ones would change
_LETTERS, _WIDEST = 32_767, 60  # of a cell, and of a column
_TEXT, _LINE = 100, 15  # letters of a line of text, and its height in points
_FIRST_YEAR = 1901  # Excel has a 29 February 1900
_OPTIONS = {
    "in_memory": True,  # released labels do not pass through temporary files
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd",
}


def check_installed() -> None:
    """Refuse if XlsxWriter is missing; called before data are read."""
    if find_spec("xlsxwriter") is None:
        raise DphistError("an .xlsx file needs XlsxWriter: pip install 'dphist[excel]'")


def write_workbook(document: Document, table: pa.Table, below: int | None = None) -> bytes:
    """Return a workbook.

    Parameters
    ----------
    document : of the release, of which a page's facts and notes become a sheet.
    table : of the release. If its first column is `table`, it has a sheet for each, without the
        columns that it does not use.
    below : smaller counts are texts such as ``<10``, and what tells them is left out.
    """
    check_installed()
    import xlsxwriter

    if below is not None:
        table = leave_out_small(table, below)
    file = io.BytesIO()
    taken = {GUIDE.casefold(), "history"}  # Excel keeps the second for itself
    with xlsxwriter.Workbook(file, _OPTIONS) as book:
        book.set_properties({"title": fill(document.title, document.slots)})
        for name, rows in split_tables(table):
            for first in range(0, max(len(rows), 1), _ROWS):
                sheet = book.add_worksheet(_name_sheet(name, taken))
                _write_table(book, sheet, rows.slice(first, _ROWS), below)
        _write_guide(book, book.add_worksheet(GUIDE), document)
    return file.getvalue()


def split_tables(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the tables that a column `table` tells apart, by name; without one, all as "Table"."""
    if table.column_names[:1] != ["table"]:
        yield "Table", table
        return
    for name in pc.unique(table["table"]).to_pylist():
        rows = table.filter(pc.equal(table["table"], name)).drop_columns("table")
        unused = [each for each in rows.column_names if rows[each].null_count == len(rows)]
        yield name or "all", rows.drop_columns(unused)


def _name_sheet(name: str, taken: set[str]) -> str:
    """Return a name that Excel allows and no sheet has yet, whatever the case of its letters."""
    allowed = re.sub(r"[\[\]:*?/\\\x00-\x1f]", " ", name).strip("' ")[:24] or "Table"
    free, number = allowed, 1
    while free.casefold() in taken:
        number += 1
        free = f"{allowed} ({number})"
    taken.add(free.casefold())
    return free


def _write_table(book: Any, sheet: Any, table: pa.Table, below: int | None) -> None:
    """Write the headings, which stay in sight, and the cells of a table."""
    left, right = (
        book.add_format({"bold": True, "bottom": 1, "align": side}) for side in ("left", "right")
    )
    whole, part = (book.add_format({"num_format": form}) for form in ("#,##0", "#,##0.0"))
    sheet.freeze_panes(1, 0)
    sheet.repeat_rows(0)
    sheet.fit_to_pages(1, 0)
    sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        shown = name in _HEADINGS or name in ("count", "prevalence")
        number = (part if pa.types.is_floating(column.type) else whole) if shown else None
        heading = _HEADINGS.get(name, name)
        sheet.write_string(0, place, heading[:_LETTERS], right if number else left)
        widest = count_columns(heading)
        cells = _list_cells(name, column)
        if below is not None and name == "count":
            for row in np.flatnonzero(find_small(table, below)).tolist():
                cells[row] = write_below(below)
        for row, cell in enumerate(cells, 1):
            if isinstance(cell, bool):
                sheet.write_boolean(row, place, cell)
            elif isinstance(cell, int | float):
                sheet.write_number(row, place, cell, number)
            elif isinstance(cell, datetime):
                form = None if cell == datetime(*cell.timetuple()[:3]) else _time_format(book)
                sheet.write_datetime(row, place, cell, form)
            elif cell is not None:
                sheet.write_string(row, place, cell[:_LETTERS])
            text = f"{cell:,.1f}" if number and isinstance(cell, int | float) else f"{cell}"
            widest = max(widest, count_columns(text))
        sheet.set_column(place, place, min(max(widest + 2, 10), _WIDEST))


def _time_format(book: Any) -> Any:
    """Return the format of moments that are no midnights."""
    return book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})


def _list_cells(name: str, column: pa.ChunkedArray) -> list[Any]:
    """Return cells: numbers that a spreadsheet holds exactly, truth values, dates, or texts."""
    if pa.types.is_boolean(column.type):
        return list(column.to_pylist())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return [_to_number(cell) for cell in column.to_pylist()]
    if pa.types.is_temporal(column.type):
        return [_to_date(text) for text in write_column(name, column, str)]
    texts = write_column(name, column, str)
    return [text if known else None for text, known in zip(texts, column.is_valid(), strict=True)]


def _to_number(cell: Any) -> int | float | str | None:
    """Return a number, or as text one that a spreadsheet would change."""
    exact = isinstance(cell, int) and abs(cell) <= _EXACT
    is_number = exact or (isinstance(cell, float) and math.isfinite(cell))
    return cell if is_number or cell is None else str(cell)


def _to_date(text: str) -> datetime | str | None:
    """Return a date or time without a zone that Excel knows; else its text, or None of no text."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text or None
    return found if found.tzinfo is None and found.year >= _FIRST_YEAR else text


def _write_guide(book: Any, sheet: Any, document: Document) -> None:
    """Write what a page says of the release, in rows: a name and a text, or a text alone."""
    title = book.add_format({"bold": True, "font_size": 14})
    bold = book.add_format({"bold": True, "valign": "top", "text_wrap": True})
    plain = book.add_format({"valign": "top", "text_wrap": True})
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, _TEXT + 10)
    slots = document.slots
    sheet.write_string(0, 0, fill(document.title, slots), title)
    row = 1
    for name, text in _list_rows(document):
        if text:
            sheet.write_string(row, 0, fill(name, slots), bold)
            text = fill(text, slots)[:_LETTERS]
            sheet.write_string(row, 1, text, plain)
            lines = sum(len(line) // _TEXT + 1 for line in text.split("\n"))
            sheet.set_row(row, _LINE * lines)  # no program but Excel makes room by itself
        else:
            row += 1
            sheet.write_string(row, 0, fill(name, slots), title)
        row += 1


def _list_rows(document: Document) -> Iterator[tuple[str, str]]:
    """Yield names with texts; a heading has no text."""
    yield "", f"{document.made} (dphist {document.version})"
    for text in (*document.warnings, document.result, document.lead):
        if text:
            yield "", text
    for section in (*document.glance, *document.sections):
        if section.name in _LEFT_OUT:
            continue
        blocks = [each for each in section.list_blocks(PAGE) if _has_place(each)]
        if blocks and section.title:
            yield section.title, ""
        for block in blocks:
            if isinstance(block, Note):
                yield "", block.text
            elif isinstance(block, Fact):
                yield block.name, in_one_line(block)


def _has_place(block: Block) -> bool:
    """Whether a block is text, and not about pictures, which no sheet has."""
    return isinstance(block, Fact) or (isinstance(block, Note) and block.text != NO_PICTURES)
