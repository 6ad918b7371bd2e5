"""The XML of a workbook, checked before its reader, which loses cells without saying so.

Of two cells or rows at one place the reader keeps the last, it stops at the first end of the rows,
and a cell far to the right makes it allocate each row as wide. None of that is in a sheet as
spreadsheet programs save it, so it is refused.
"""

import re
import zipfile
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from dphist.errors import InputFileError

_WORKBOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_MOST_ROWS = 2**20
_MOST_COLUMNS = 2**14
_MOST_CELLS = 2**26  # of the box from the first cell, which the reader holds in memory
_ROW = re.compile("[1-9][0-9]{0,6}")
_CELL = re.compile("([A-Z]{1,3})([1-9][0-9]{0,6})")
_BYTES_AT_ONCE = 2**16


def find_sheets(book: zipfile.ZipFile) -> dict[str, str]:
    """Return the part of each sheet by the sheet's name, as the reader finds it.

    Raises
    ------
    Exception
        If the file is no workbook, or two of its parts, relations or sheets have one name.
    """
    parts, targets, sheets = dict[str, str](), dict[str, str](), dict[str, str]()
    for part in book.namelist():
        _add(parts, part.lower(), part)

    def add_relation(tag: str, attributes: Mapping[str, str]) -> None:
        if _local(tag) == "Relationship":
            _add(targets, attributes["Id"], attributes["Target"])

    def add_sheet(tag: str, attributes: Mapping[str, str]) -> None:
        if _local(tag) == "sheet":
            identity = attributes.get("r:id") or attributes["relationships:id"]
            target = targets[identity].removeprefix("/")
            target = target if target.startswith("xl/") else f"xl/{target}"
            _add(sheets, attributes["name"], parts[target.lower()])

    _parse(book, _RELATIONS, _new_parser(add_relation))
    _parse(book, _WORKBOOK, _new_parser(add_sheet))
    return sheets


def check_sheet(book: zipfile.ZipFile, part: str, shown: str) -> dict[int, int]:
    """Refuse a sheet of which the reader would lose cells.

    Whether a row is refused depends on it, on the first one, and on whether its number and those
    of its cells ascend, as they do in all files that spreadsheet programs save.

    Returns
    -------
    dict
        Of each column in which a cell has an error, or a formula without a result: its position,
        from 0, and the number of the first such row.

    Raises
    ------
    InputFileError
        If rows or cells are out of order, twice there or outside the grid, a truth value is neither
        0 nor 1, or a row has cells to the right of the first row's or lies too far down.
    Exception
        If the part is not such XML as is written for sheets.
    """
    sheet = _Sheet(shown)
    parser = _new_parser(sheet.start)
    parser.buffer_text = True
    parser.EndElementHandler = sheet.end
    parser.CharacterDataHandler = sheet.add_text
    parser.CommentHandler = parser.ProcessingInstructionHandler = sheet.refuse_inside
    parser.StartCdataSectionHandler = sheet.refuse_inside
    _parse(book, part, parser)
    if not sheet.has_rows:
        raise ValueError
    return sheet.without_value


class _Sheet:
    """What was read of a sheet so far; its methods are told of the parser's events."""

    def __init__(self, shown: str) -> None:
        self.without_value = dict[int, int]()
        self.has_rows = False
        self._shown = shown
        self._path: list[str] = []
        self._width = self._row = self._column = 0
        self._type = ""
        self._children = set[str]()
        self._text = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name, path = _local(tag), self._path
        path.append(name)
        if name == "sheetData":
            if len(path) != 2 or self.has_rows:
                raise self._disorder()
            self.has_rows = True
        elif path[1:2] == ["sheetData"]:
            if len(path) == 3:
                self._start_row(name, attributes.get("r", ""))
            elif len(path) == 4:
                self._start_cell(name, attributes.get("r", ""))
                self._type = attributes.get("t", "")
            elif len(path) == 5:
                if name not in ("v", "f", "is") or name in self._children:
                    raise self._disorder()
                self._children.add(name)
            elif path[4] != "is" or name in ("row", "c", "is", "v"):
                raise self._disorder()

    def end(self, _: str) -> None:
        if len(self._path) == 4 and self._path[1] == "sheetData":
            self._end_cell()
        self._path.pop()

    def add_text(self, text: str) -> None:
        if len(self._path) == 5 and self._path[4] == "v":
            self._text = (self._text + text)[:2]  # enough to know 0, 1, others and none

    def refuse_inside(self, *_: Any) -> None:
        """Refuse what no program writes between cells, and the reader may take for their end."""
        if self._path[1:2] == ["sheetData"]:
            raise self._disorder()

    def _start_row(self, name: str, number: str) -> None:
        if name != "row" or not _ROW.fullmatch(number):
            raise self._disorder()
        if not self._row < int(number) <= _MOST_ROWS:
            raise self._disorder()
        self._row, self._column = int(number), 0
        if self._row * self._width > _MOST_CELLS:
            raise InputFileError(
                f"row {self._row:,} of {self._shown} lies too far down for a sheet as wide: save "
                "it as CSV"
            )

    def _start_cell(self, name: str, place: str) -> None:
        found = _CELL.fullmatch(place)
        if name != "c" or found is None or int(found[2]) != self._row:
            raise self._disorder()
        column = 0
        for letter in found[1]:
            column = column * 26 + ord(letter) - ord("A") + 1
        if not self._column < column <= _MOST_COLUMNS:
            raise self._disorder()
        self._column, self._text = column, ""
        self._children.clear()

    def _end_cell(self) -> None:
        if not self._children and self._type != "e":
            return
        if self._type == "b" and self._text not in ("", "0", "1"):
            raise self._disorder()  # the reader takes all but "0" for true
        if self._row == 1:
            self._width = self._column
        elif self._column > self._width:
            raise InputFileError(
                f"row {self._row:,} of {self._shown} must have no cells to the right of the names "
                "in the first row: remove them, or name their columns"
            )
        is_without = "f" in self._children and not self._text and self._type != "str"
        if self._type == "e" or is_without:
            self.without_value.setdefault(self._column - 1, self._row)

    def _disorder(self) -> InputFileError:
        return InputFileError(
            f"{self._shown} must have each row and cell once, in order and with its number: save "
            "it again with a spreadsheet program"
        )


def _new_parser(start: Any) -> expat.XMLParserType:
    """Return a parser that takes no entities but those of XML itself."""
    parser = expat.ParserCreate("UTF-8")
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = start
    return parser


def _parse(book: zipfile.ZipFile, part: str, parser: expat.XMLParserType) -> None:
    with book.open(part) as file:
        while block := file.read(_BYTES_AT_ONCE):
            parser.Parse(block, False)
    parser.Parse(b"", True)


def _refuse(*_: Any) -> None:
    raise ValueError


def _add(known: dict[str, str], name: str, value: str) -> None:
    if name in known:
        raise ValueError
    known[name] = value


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]
