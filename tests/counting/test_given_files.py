"""Spreadsheets, JSON lines, SQLite, archives, encodings: each as a text file of the same rows."""

import datetime
import io
import shutil
import sqlite3
import string
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

import dphist as dh
from dphist.counting.reading import sheet_form, spreadsheets, sqlite_files
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from tests.support.counting.backends import gzipped, zstd
from tests.support.counting.given_rows import (
    NAMES,
    ROWS,
    SPREADSHEETS,
    USERS,
    WRITERS,
    Rows,
    count,
    profile,
    to_csv,
    write_csv,
    write_json_lines,
    write_sqlite,
    write_xlsx,
    write_zip,
)
from tests.support.refusal import NUMBER, SENTINEL, refused

FORMATS = list(WRITERS)


PLAIN = st.text(alphabet=string.ascii_letters + "éß€ ,\"'", max_size=6).map(str.strip)
CELLS = st.lists(
    st.tuples(
        st.one_of(USERS, PLAIN, st.booleans()),
        st.one_of(PLAIN, st.dates(datetime.date(1905, 1, 1), datetime.date(2200, 1, 1))),
        st.integers(0, 5),
    ),
    max_size=12,
)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=20)
@given(data=st.data())
def test_rows_count_as_in_a_text_file(name: str, data: st.DataObject) -> None:
    """Which users and labels are equal, which are missing, and how much each counts."""
    is_sheet = name in SPREADSHEETS
    rows: Rows = data.draw(CELLS if is_sheet else ROWS)
    if is_sheet:  # a cell holds no empty text
        rows = [[None if value == "" else value for value in row] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        ending, write = WRITERS[name]
        made = write(Path(folder) / ending, rows)
        plain = write_csv(Path(folder) / "plain.csv", rows)
        assert count(made) == count(plain)
        one = {"max_labels": 1, "max_count": 1}
        assert sum(count(made, **one).values()) == sum(count(plain, **one).values())
        labelled = [row for row in rows if row[0] is not None]
        made = write(Path(folder) / f"labelled-{ending}", labelled)
        assert profile(made) == profile(write_csv(Path(folder) / "plain.csv", labelled))


@pytest.mark.parametrize("name", FORMATS)
def test_rows_count_as_in_a_frame(name: str, tmp_path: Path) -> None:
    rows = [(f"u{n % 7}", f"w{n % 3}", n % 4) for n in range(50)]
    ending, write = WRITERS[name]
    frame = pd.DataFrame(rows, columns=list(NAMES))
    made = write(tmp_path / ending, rows)
    bounded = {"max_labels": 3, "max_count": 2, "null_users": "refuse", "null_labels": "refuse"}
    assert count(made, **bounded) == count(frame, **bounded)
    assert profile(made) == profile(frame)


@pytest.mark.parametrize("name", FORMATS)
def test_values_are_binned_as_in_a_text_file(name: str, tmp_path: Path) -> None:
    rows = [(n % 5, value, 1) for n, value in enumerate((1, 2.5, 0.1, -3, 99999, "7", None, 2))]
    ending, write = WRITERS[name]
    asked: dict[str, Any] = {"column": "word", "edges": [0, 1, 2, 2.5, 3, 8]}
    found = dh.bin_counts(write(tmp_path / ending, rows), **asked)
    assert found == dh.bin_counts(write_csv(tmp_path / "plain.csv", rows), **asked)


@pytest.mark.parametrize("name", SPREADSHEETS)
def test_days_of_cells_are_binned(name: str, tmp_path: Path) -> None:
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(n) for n in range(40)]
    rows = [(n, day, 1) for n, day in enumerate(days)]
    ending, write = WRITERS[name]
    edges = [datetime.date(2026, month, 1) for month in (1, 2, 3)]
    found = dh.bin_counts(write(tmp_path / ending, rows), column="word", edges=edges)
    assert found == dh.bin_counts(
        write_csv(tmp_path / "plain.csv", rows), column="word", edges=edges
    )


@pytest.mark.parametrize("name", FORMATS)
def test_no_rows_are_data(name: str, tmp_path: Path) -> None:
    ending, write = WRITERS[name]
    assert count(write(tmp_path / ending, [])) == {}


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_two_formats_are_one_table(name: str, tmp_path: Path) -> None:
    """A user in both is one user: 17 in a cell is the text 17."""
    ending, write = WRITERS[name]
    made = write(tmp_path / ending, [(17, "a", 1), ("17", "b", 1), (3, "a", 1)])
    if isinstance(made, dh.Files):
        return
    plain = write_csv(tmp_path / "plain.csv", [(17, "c", 1), (4, "a", 1)])
    found = count([made, plain], max_labels=1, max_count=1)
    assert sum(found.values()) == 3
    other = write_csv(tmp_path / "other.csv", [(17, "c", 1, 1)], [*NAMES, "more"])
    if name != "json lines":  # its objects may have any other keys
        with refused(ColumnError, f"'{other}' must have the same columns as"):
            count([made, other])


def test_the_temporary_copies_are_private_and_removed(tmp_path: Path, temporary: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [("a", "b", 1)])
    assert count(path) == {"b": 1}
    (tmp_path / "bad.jsonl").write_text('{"who": 1}\n')
    with refused(InputFileError):
        count(tmp_path / "bad.jsonl")
    assert list(temporary.iterdir()) == []


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which all temporary files are made."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# --- Values that are no user, label, count or number, each by itself

BAD_VALUES: list[tuple[str, str, Any]] = [
    (name, column, value)
    for name in ("json lines", "sqlite", *SPREADSHEETS)
    for column, value in (
        ("who", 0.5),
        ("who", 1e300),
        ("word", -2.5),
        ("n", 0.5),
        *([("n", True)] if name != "sqlite" else []),
    )
] + [
    *((name, column, 2.0**53) for name in SPREADSHEETS for column in NAMES),
    *((name, column, float(NUMBER * 2**30)) for name in SPREADSHEETS for column in NAMES),
    ("json lines", "who", [SENTINEL]),
    ("json lines", "word", {"a": SENTINEL}),
    ("json lines", "who", "\ud800"),
    ("sqlite", "n", b"\xff"),
]


@pytest.mark.parametrize(("name", "column", "value"), BAD_VALUES)
def test_a_value_that_is_unfit_is_refused_by_itself(
    name: str, column: str, value: Any, tmp_path: Path
) -> None:
    ending, write = WRITERS[name]
    row = [value if each == column else 1 for each in NAMES]
    where = {"json lines": "line 2", "sqlite": "each row"}.get(name, "row 3")
    rows: Rows = [(SENTINEL, 1, 1), row, (SENTINEL, 2, 1)]
    if name == "json lines":
        rows, where = rows[1:], "line 1"
    for place, given_rows in enumerate((rows, [*rows, row])):
        path = write(tmp_path / f"{place}-{ending}", given_rows)
        with refused(InputFileError, where, f"'{path}'", repr(column)):
            count(path)


# --- Spreadsheets


@pytest.mark.parametrize("ending", ["ods", "xls", "xlsb", "ODS"])
def test_spreadsheets_that_are_not_taken(ending: str, tmp_path: Path) -> None:
    """Of .ods, the reader drops rows beyond 1,048,576, which one row can repeat."""
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"x")
    packed = write_zip(tmp_path / "t.zip", [(path.name, b"x")])
    for given_path in (path, packed):
        with refused(InputFileError, "spreadsheet of another kind", "save it as .xlsx or CSV"):
            count(given_path)


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", [("a", "b", 1)], sheets=["first", "second"])
    assert count(dh.Files(path, sheet="first")) == {"b": 1}
    with refused(ParameterError, "sheet must name one of the 2 sheets"):
        count(path)
    with refused(ParameterError, "sheet must name a sheet", "'third'"):
        count(dh.Files(path, sheet="third"))
    with refused(ColumnError, "the first row", "names no"):  # it has no cells
        count(dh.Files(path, sheet="second"))
    with refused(ParameterError, "sheet applies to spreadsheets only"):
        count(dh.Files(write_csv(tmp_path / "t.csv", []), sheet="first"))


def test_a_first_row_that_may_be_a_record_is_not_shown(tmp_path: Path) -> None:
    for name in SPREADSHEETS:
        ending, write = WRITERS[name]
        path = write(tmp_path / ending, [(NUMBER, "b", 1)], [SENTINEL, "word", "n"])
        with refused(ColumnError, "'who'"):
            count(path)
        path = write(tmp_path / f"twice-{ending}", [(1, 2, "b", 1)], ["who", "who", "word", "n"])
        with refused(ColumnError, "more than one column 'who'"):
            count(path)


def test_empty_rows_merged_cells_and_formulas(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 1, NAMES)  # the first column has no name
        sheet.write_row(1, 1, ["a", "x", 1])
        sheet.write_row(4, 1, ["b", "x", 1])
        sheet.merge_range(5, 1, 6, 1, "c")  # the second of the two cells is empty
        sheet.write_row(5, 2, ["x", 1])
        sheet.write_row(6, 2, ["y", 1])
        sheet.write_row(7, 2, ["z", 1])
        sheet.write_formula(7, 0, "=NA()", value="#N/A")  # in no column that is read
        sheet.write_formula(8, 1, '="d"', value="d")
        sheet.write_row(8, 2, ["x", 1])
    assert count(path) == {"x": 4, "y": 1, "z": 1}
    assert count(path, null_users="drop") == {"x": 4}
    with refused(DataError, "'who'"):
        count(path, null_users="refuse")


FIRST_SHEET = "xl/worksheets/sheet1.xml"


def rewrite(path: Path, *changes: tuple[str, str]) -> Path:
    """Replace text of the first sheet of a workbook, which has it once."""
    with zipfile.ZipFile(path) as book:
        files = [(name, book.read(name)) for name in book.namelist()]
    for place, (name, content) in enumerate(files):
        if name == FIRST_SHEET:
            text = content.decode()
            for old, new in changes:
                assert text.count(old) == 1
                text = text.replace(old, new)
            files[place] = (name, text.encode())
    return write_zip(path, files)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<row r="3"', '<row r="2"'),
        ('<row r="3"', '<row r="5"'),
        ('<row r="3"', "<row"),
        ('<row r="4"', '<row r="1048577"'),
        ('<row r="3"', '</sheetData><sheetData><row r="3"'),
        ('<row r="3"', '<sheetData/><row r="3"'),
        ('<row r="3"', '<!-- x --><row r="3"'),
        ('<row r="3"', '<c r="A3"/><row r="3"'),
        ('r="B3"', 'r="A3"'),
        ('r="B3"', 'r="B2"'),
        ('r="B3"', 'r="b3"'),
        ('r="B3"', 'r="AAAA3"'),
        ('<c r="B3"', "<c"),
        ('<c r="C3"><v>1</v>', '<c r="C3"><v>1</v><v>2</v>'),
        ('<c r="C3"><v>1</v>', '<c r="C3"><v>1<f>2</f></v>'),
        ('<c r="C3"><v>1</v>', '<c r="C3"><v><![CDATA[1]]></v>'),
        ('<c r="C3"><v>1</v>', '<c r="C3" t="b"><v>false</v>'),
        ('<c r="C3"><v>1</v>', '<c r="C3" t="inlineStr"><is><t>1</t><is/></is>'),
    ],
)
def test_a_sheet_of_which_cells_would_be_lost_is_refused(
    old: str, new: str, tmp_path: Path
) -> None:
    """Its reader keeps the last of two cells at one place, and stops at the first end of rows."""
    path = write_xlsx(tmp_path / "t.xlsx", [(SENTINEL, "b", 0), ("c", "b", 1), ("d", "b", 2)])
    with refused(InputFileError, f"'{path}' must have each row and cell once"):
        count(rewrite(path, (old, new)))


def test_a_cell_to_the_right_of_the_names_is_refused(tmp_path: Path) -> None:
    """Its reader would make every row as wide, and end the process when memory is short."""
    rows = [("a", "b", 1), ("c", "d", 1)]
    path = write_xlsx(tmp_path / "t.xlsx", rows)
    far = ("</row></sheetData>", '<c r="XFD3"><v>1</v></c></row></sheetData>')
    with refused(InputFileError, "row 3 of", "no cells to the right of the names"):
        count(rewrite(path, far))
    path = write_xlsx(tmp_path / "t.xlsx", rows)
    empty = ("</row></sheetData>", '<c r="XFD3" s="1"/></row></sheetData>')
    assert count(rewrite(path, empty)) == {"b": 1, "d": 1}


def test_a_cell_far_down_a_wide_sheet_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader holds the whole box of cells in memory."""
    monkeypatch.setattr(sheet_form, "_MOST_CELLS", 11)
    rows = [("a", "b", 1), ("c", "d", 1)]
    path = write_xlsx(tmp_path / "t.xlsx", rows)
    assert count(path) == {"b": 1, "d": 1}
    down = ("</row></sheetData>", '</row><row r="4"><c r="A4"><v>1</v></c></row></sheetData>')
    with refused(InputFileError, "row 4 of", "lies too far down for a sheet as wide"):
        count(rewrite(path, down))


@pytest.mark.parametrize(
    "cell", ['t="e"><v>#N/A</v>', 't="e">', "><f>A1</f>", "><f>A1</f><v></v>", "><f>A1</f><v/>"]
)
def test_a_cell_without_a_result_is_refused_by_itself(cell: str, tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", [(SENTINEL, "b", 0), ("c", "b", 1), ("d", "b", 2)])
    with refused(InputFileError, "row 3 of", "in column 'n', no error"):
        count(rewrite(path, ('<c r="C3"><v>1</v>', f'<c r="C3" {cell}')))


def test_other_files_that_are_called_workbooks(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", [("a", "b", 1)])
    with zipfile.ZipFile(path) as book:
        files = [(name, book.read(name)) for name in book.namelist()]
    doctype = b"<!DOCTYPE x [<!ENTITY y 'z'>]><worksheet"
    for wrong in (
        [each for each in files if each[0] != "xl/workbook.xml"],
        [*files, ("XL/Workbook.xml", b"")],
        [(name, content.replace(b"<worksheet", doctype, 1)) for name, content in files],
    ):
        with refused(InputFileError, "must be a spreadsheet"):
            count(write_zip(path, wrong))


def damage(content: bytes, find: bytes, place: int) -> bytes:
    """Change one byte of the part of an archive that has a name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        part = archive.getinfo(find.decode())
    start = part.header_offset + 30 + len(find) + place
    return content[:start] + bytes([content[start] ^ 4]) + content[start + 1 :]


def test_a_damaged_spreadsheet_is_refused_whatever_its_reader_says(tmp_path: Path) -> None:
    """It looks at no checksum, and what it reads ends with the mark of the last row."""
    whole = write_xlsx(tmp_path / "t.xlsx", [(f"u{n}", SENTINEL, n) for n in range(99)])
    content = whole.read_bytes()
    for part in (b"xl/worksheets/sheet1.xml", b"xl/sharedStrings.xml"):
        for place in range(20, 300, 7):
            whole.write_bytes(damage(content, part, place))
            with refused(InputFileError, f"'{whole}'"):
                count(whole)
    whole.write_bytes(content[:-40])
    with refused(InputFileError, f"'{whole}' must be a spreadsheet"):
        count(whole)


def test_a_spreadsheet_that_unpacks_to_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", [])
    monkeypatch.setattr(spreadsheets, "_MOST_BYTES", 100)
    with refused(InputFileError, "unpacks to more than"):
        count(path)


# --- JSON lines

GOOD = '{"who": "a", "word": "b", "n": 1}'


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (f'{{"who": "{SENTINEL}", "word": "b"', "must be a JSON object"),
        (f'["{SENTINEL}"]', "must be a JSON object"),
        (f'"{SENTINEL}"', "must be a JSON object"),
        ("null", "must be a JSON object"),
        (f"{GOOD} {GOOD}", "must be a JSON object"),
        (f"{GOOD}, ", "must be a JSON object"),
        ('{"who": 1, "who": 1, "word": 2, "n": 1}', "each key once"),
        ('{"who": 1, "word": 2, "n": 1, "x": {"y": 1, "y": 1}}', "each key once"),
        ('{"who": NaN, "word": 2, "n": 1}', "must be a JSON object"),
        ('{"who": 1, "word": 2, "n": 1, "x": Infinity}', "must be a JSON object"),
        ('{"who": %s, "word": 2, "n": 1}' % ("9" * 401), "at most 400 digits"),
        ('{"who": 1, "word": 2, "n": 1, "x": %s}' % ("[" * 100_000), "must be a JSON object"),
        ("{'who': 1, 'word': 2, 'n': 1}", "must be a JSON object"),
        ('{"who": "\t", "word": 2, "n": 1}', "must be a JSON object"),
        ('{"word": 2, "n": 1}', "has no key 'who'"),
        ('{"who": 1, "word": 2, "n": 1, "x": "%s"}' % ("x" * 2_000_000), "has more than"),
        (GOOD.replace("a", "\udcff"), "must be a JSON object in UTF-8"),
        ("\ufeff" + GOOD, "must be a JSON object"),
    ],
    ids=str,
)
def test_a_line_that_is_no_record_is_refused(line: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    content = f"{GOOD}\n\n{line}\n{GOOD}\n".encode("utf-8", "surrogateescape")
    for name, written in (("t.jsonl", content), ("t.ndjson.gz", gzipped(content))):
        path = tmp_path / name
        path.write_bytes(written)
        with refused(InputFileError, f"line 3 of '{path}'", fault):
            count(path)


@pytest.mark.parametrize("name", ["json lines", "sqlite"])
def test_the_empty_text_is_a_value(name: str, tmp_path: Path) -> None:
    ending, write = WRITERS[name]
    path = write(tmp_path / ending, [("", "", 1), ("", "a", 2), (None, "a", 4), ("x", None, 8)])
    assert count(path) == {"": 1, "a": 6}
    assert sum(count(path, max_labels=1, max_count=1, null_users="drop").values()) == 1


def test_how_json_lines_are_written(tmp_path: Path) -> None:
    """Numbers as they stand; empty lines, other keys and any line ending are no matter."""
    mark = b"\xef\xbb\xbf"
    content = (
        b'{"n": 1, "word": "a", "who": 9007199254740993, "x": [1, {"y": 2}]}\r\n'
        b" \n"
        b'{"who": 9007199254740992, "word": "a", "n": 1}\n'
        b'{"who": "9007199254740992", "word": "\\u0061", "n": "2"}\n'
        b'{"who": null, "word": true, "n": 3}\n'
        b'{"who": -0, "word": "a", "n": 1}\n{"who": 0, "word": "a\\u0000", "n": 1}'
    )
    for name, written in (
        ("t.jsonl", content),
        ("t.ndjson", mark + content),
        ("t.jsonl.zst", zstd(content)),
        ("t.jsonl.gz", gzipped(content[:99]) + gzipped(content[99:])),
    ):
        path = tmp_path / name
        path.write_bytes(written)
        assert count(path) == {"a": 5, "true": 3, "a\0": 1}
        assert sum(count(path, max_labels=1, max_count=1).values()) == 4
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzipped(content)[:-9])
    with refused(InputFileError, "must be a file of JSON lines"):
        count(path)


# --- SQLite


def test_a_table_or_query_of_sqlite(tmp_path: Path) -> None:
    path = write_sqlite(tmp_path / "t.db", [("a", "b", 1), ("c", "d", 2)])
    before = path.read_bytes()
    assert count(dh.Files(path, table_name="given")) == count(path) == {"b": 1, "d": 2}
    query = "SELECT who, word, n FROM given WHERE n > 1 -- a comment"
    assert count(dh.Files(path, query=query)) == {"d": 2}
    with refused(ColumnError, "there is no column 'who'; the columns are: 'word', 'n'"):
        count(dh.Files(path, query="SELECT word, n FROM given"))
    with refused(ColumnError, "more than one column 'who'"):
        count(dh.Files(path, query="SELECT who, who, word, n FROM given"))
    for wrong in (
        "DELETE FROM given",
        "SELECT",
        "SELECT nothing FROM given",
        "VACUUM",
        "SELECT 1;",
    ):
        with refused(ParameterError, "query must be one SELECT"):
            count(dh.Files(path, query=wrong))
    with refused(InputFileError, "must be an SQLite file"):  # known only when a row is read
        count(dh.Files(path, query="SELECT who, word, abs(-9223372036854775808) n FROM given"))
    with refused(ParameterError, "table_name must name a table", "'other'"):
        count(dh.Files(path, table_name="other"))
    with refused(ParameterError, "query must be left out with table_name"):
        dh.Files(path, table_name="given", query=query)
    with refused(ParameterError, "query applies to SQLite files only"):
        count(dh.Files(write_csv(tmp_path / "t.csv", []), query=query))
    assert path.read_bytes() == before
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM given WHERE n = 1")
    with refused(ParameterError, "table_name must name one of the 2 tables"):
        count(path)
    assert count(dh.Files(path, table_name="seen")) == {"b": 1}


def test_sqlite_text_that_is_none_and_damage(tmp_path: Path) -> None:
    path = write_sqlite(tmp_path / "t.db", [("a", "b", 1)])
    with sqlite3.connect(path) as connection:
        text = "INSERT INTO given VALUES (?, CAST(x'ff' AS TEXT), 1)"
        connection.execute(text, [SENTINEL])
    with refused(InputFileError, f"'{path}' must be an SQLite file"):
        count(path)
    path = write_sqlite(tmp_path / "u.db", [(f"u{n}", SENTINEL, n) for n in range(5000)])
    content = bytearray(path.read_bytes())
    content[9000:9400] = bytes(400)
    path.write_bytes(content)
    with refused(InputFileError, f"'{path}' must be an SQLite file"):
        count(path)


def test_a_file_in_wal_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left beside it; with a log, what the log holds is read, too."""
    path = write_sqlite(tmp_path / "t.db", [("a", "b", 1)])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("INSERT INTO given VALUES ('c', 'd', 1)")
    connection.commit()
    assert count(path) == {"b": 1, "d": 1}
    (tmp_path / "link").mkdir()
    link = tmp_path / "link" / "t.db"
    link.symlink_to(path)
    assert count(link) == {"b": 1, "d": 1}  # the log lies beside the file itself
    shutil.rmtree(link.parent)
    connection.close()
    assert [each.name for each in tmp_path.iterdir()] == ["t.db"]
    assert count(path) == {"b": 1, "d": 1}
    assert [each.name for each in tmp_path.iterdir()] == ["t.db"]
    find = sqlite_files.find_position

    def change(*given: Any) -> int:  # after the check, before the last row is read
        Path(f"{path}-wal").write_bytes(b"x")
        return find(*given)

    monkeypatch.setattr(sqlite_files, "find_position", change)
    with refused(InputFileError, f"'{path}' must be an SQLite file"):
        count(path)


def test_an_index_of_sqlite_that_lacks_rows(tmp_path: Path) -> None:
    """A query may read the index alone."""
    path = tmp_path / "t.db"
    row = "INSERT INTO given VALUES (?, 'a', 1)"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE given (who, word, n)")
        connection.execute("CREATE INDEX found ON given (who, word, n)")
        connection.execute(row, ["x"])
        (kept,) = connection.execute("SELECT * FROM sqlite_schema WHERE name = 'found'").fetchall()
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'found'")
    connection.close()
    with sqlite3.connect(path) as connection:
        connection.execute(row, [SENTINEL])
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", kept)
    connection.close()
    for table in (path, dh.Files(path, query="SELECT who, word, n FROM given")):
        with refused(InputFileError, "must be an SQLite file"):
            count(table)


# --- Archives


def test_an_archive_stands_for_its_files(tmp_path: Path) -> None:
    rows: Rows = [("a", "b", 1), ("c", "d", 2)]
    text, lines = to_csv(rows).encode(), write_json_lines(tmp_path / "t.jsonl", rows).read_bytes()
    cells = write_xlsx(tmp_path / "t.xlsx", rows).read_bytes()
    frame = pd.DataFrame(rows, columns=list(NAMES))
    for files in (
        [("t.csv", text)],
        [("folder/t.csv.gz", gzipped(text)), ("__MACOSX/._t.csv", b"x"), (".DS_Store", b"x")],
        [("t.jsonl", lines)],
        [("t.xlsx", cells)],
        [("../../t.parquet", frame.to_parquet())],
    ):
        assert count(write_zip(tmp_path / "t.zip", files)) == {"b": 1, "d": 2}
    two = write_zip(tmp_path / "t.zip", [("1.csv", text), ("2.xlsx", cells)])
    assert count(two) == {"b": 2, "d": 4}
    assert count([two, tmp_path / "t.xlsx"]) == {"b": 3, "d": 6}
    assert count(two, max_labels=1, max_count=1) == {"b": 1, "d": 1}


@pytest.mark.parametrize(
    ("files", "kind", "fault"),
    [
        ([], InputFileError, "has no files"),
        ([("_x", b"")], InputFileError, "has no files"),
        ([("a.csv", b""), ("a.csv", b"")], InputFileError, "two files of one name"),
        ([("a.zip", b"")], InputFileError, "holds another archive"),
        ([("a.exe", b"")], InputFileError, "'a.exe' in '"),
        (
            [("a.csv", b"who,word,n\n"), ("b.csv", b"who,word,n\n%b\n" % SENTINEL.encode())],
            InputFileError,
            "line 2 of 'b.csv' in '",
        ),
        ([("a.csv", b"who,word,n\n"), ("b.csv", b"who,word\n")], ColumnError, "'b.csv' in '"),
    ],
)
def test_an_archive_that_is_no_table(
    files: list[tuple[str, bytes]], kind: type[Exception], fault: str, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of the name that is there twice
        path = write_zip(tmp_path / "t.zip", files)
    with refused(kind, fault):
        count(path)


def test_damage_and_size_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_csv([(f"u{n}", SENTINEL, 1) for n in range(999)]).encode()
    path = write_zip(tmp_path / "t.zip", [("t.csv", text)])
    content = path.read_bytes()
    for place in range(0, 200, 9):
        path.write_bytes(damage(content, b"t.csv", place))
        with refused(InputFileError, f"'{path}' must be a zip archive"):
            count(path)
    encrypted = bytearray(content)
    encrypted[content.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(encrypted)
    with refused(InputFileError, f"'{path}' is encrypted"):
        count(path)
    path.write_bytes(content)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("usage", (), {"free": 1000}))
    with refused(DataError, "unpacking", "ran out of"):
        count(path)


# --- Encodings


@pytest.mark.parametrize(
    "encoding",
    ["latin-1", "cp1252", "ISO-8859-15", "utf-8", "cp932"],
)
@pytest.mark.parametrize("compress", [bytes, gzipped, zstd], ids=["plain", "gz", "zst"])
def test_text_in_other_encodings(
    encoding: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    word = "ß" if encoding != "cp932" else "ア"
    rows = [(f"u{n}", f"{word}\n{n % 3}", 1) for n in range(99)]
    ending = {bytes: "", gzipped: ".gz", zstd: ".zst"}[compress]
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(compress(to_csv(rows).encode(encoding)))
    plain = write_csv(tmp_path / "plain.csv", rows)
    assert count(dh.Files(path, encoding=encoding)) == count(plain)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [3, 2**20])
def test_the_line_that_is_not_in_the_encoding(
    ending: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dphist.counting.reading.encodings._BYTES_AT_ONCE", size)
    lines = ["who,word,n", f"a,{SENTINEL},1", "b,é,1", ""]
    path = tmp_path / "t.csv"
    path.write_bytes(ending.join(lines).encode("latin-1"))
    with refused(InputFileError, f"line 3 of '{path}' is not text in ascii"):
        count(dh.Files(path, encoding="ascii"))
    path.write_bytes(ending.join(lines[:-1]).encode("latin-1") + b"\x81")  # half a character
    with refused(InputFileError, f"line 3 of '{path}' is not text in cp932"):
        count(dh.Files(path, encoding="cp932"))


@pytest.mark.parametrize(
    "name",
    [
        *("", "klingon", "utf-7", "iso2022_jp", "base64", "x\0y", None, 7),
        # Two odd bytes, in two records, would swallow all records between them.
        *("utf-16", "utf_16", "utf-16-le", "UTF-16BE", "utf-32", "utf-32-le", "utf-32-be"),
    ],
)
def test_encodings_that_are_not_taken(name: Any) -> None:
    with refused(ParameterError, "encoding must be a usual one"):
        dh.Files("t.csv", encoding=name)


def test_an_encoding_is_that_of_a_text_file(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [])
    with refused(ParameterError, "encoding applies to text files only"):
        count(dh.Files(path, encoding="latin-1"))
    for name in ("sheet", "table_name", "query"):
        with refused(ParameterError, f"{name} must be text"):
            dh.Files(path, **{name: ""})


# --- Numbers and dates as they are written elsewhere


def bin_text(path: Path, texts: list[str], edges: list[Any], **written: Any) -> list[int]:
    """Return the records in each bin of a text file of one column."""
    path.write_bytes("".join(f"{text}\n" for text in ("x;y", *texts)).encode())
    found = dh.bin_counts(dh.Files(path, **written), column="x", edges=edges, delimiter=";")
    counts: list[int] = found.counts.tolist()
    return counts


DATES = [datetime.date(2024, 1, 1), datetime.date(2024, 2, 1), datetime.date(2024, 3, 1)]


@pytest.mark.parametrize(
    ("form", "texts", "expected"),
    [
        ("%d.%m.%Y", ["31.01.2024", "1.2.2024", " 02.2.2024 ", "2024-01-05"], [2, 2]),
        ("%m/%d/%Y", ["1/2/2024", "02/01/2024", "01/31/2024"], [2, 1]),
        ("%Y%m%d", ["20240131", "20240201"], [1, 1]),
        ("%Y-%d-%m", ["2024-01-02", "2024-02-01"], [1, 1]),
        ("%d.%m.%Y %H:%M", ["31.1.2024 9:05", "31.01.2024 23:59"], [2, 0]),
        ("%d.%m.%Y, %H:%M:%S", ["31.1.2024, 23:59:59", "1.2.2024, 0:0:0"], [1, 1]),
        ("%H o'clock %d.%m.%Y".replace("o'clock", "'"), ["7 ' 1.2.2024"], [0, 1]),
        ("%Y年%m月%d日", ["2024年1月31日"], [1, 0]),
        (None, ["2024-01-31"], [1, 0]),
    ],
)
def test_dates_in_a_given_form(
    form: str | None, texts: list[str], expected: list[int], tmp_path: Path
) -> None:
    lines = [f"{text};1" for text in texts]
    assert bin_text(tmp_path / "t.csv", lines, DATES, date_format=form) == expected


@pytest.mark.parametrize("text", ["31/01/2024", "32.01.2024", "1.13.2024", "1.1.24", "x1.1.2024"])
def test_a_date_in_another_form_is_refused_by_itself(text: str, tmp_path: Path) -> None:
    for others in ([], ["1.2.2024;1", "2024-02-01;1"]):
        with refused(DataError, "'x'"):
            bin_text(tmp_path / "t.csv", [*others, f"{text};1"], DATES, date_format="%d.%m.%Y")


def test_numbers_with_a_comma(tmp_path: Path) -> None:
    texts = ["1,5;1", "+2,25;1", "-0,5;1", "1e0;1", "3;1", "1,5e0;1"]
    edges = [-1, 0, 1, 1.75, 2.5, 4]
    assert bin_text(tmp_path / "t.csv", texts, edges, decimal=",") == [1, 0, 3, 1, 1]
    for text in ("1.5;1", "1.234,5;1", "1,2,3;1"):
        with refused(DataError, "'x'"):
            bin_text(tmp_path / "t.csv", ["1;1", text], edges, decimal=",")


def test_labels_users_and_counts_are_text_however_numbers_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('who,word,n\n"1,5","1,5",1\n1.5,31.01.2024,2\n"1,5",2024-01-31,3\n')
    given = dh.Files(path, decimal=",", date_format="%d.%m.%Y")
    assert count(given) == count(path) == {"1,5": 1, "31.01.2024": 2, "2024-01-31": 3}
    sums = {"n": dh.Clamp(0, 10, step="0.5")}
    path.write_text('who,word,n\na,b,"1,5"\n')
    summed = dh.LabelCounts.from_table(given, label="word", user="who", max_labels=1, sums=sums)
    assert summed.sums is not None
    with refused(DataError, "'n'"):
        dh.LabelCounts.from_table(path, label="word", user="who", max_labels=1, sums=sums)


@pytest.mark.parametrize(
    "form",
    ["", "%d.%m", "%d.%m.%y", "%d.%m.%Y.%d", "%d.%m.%Y %S", "%d %b %Y", "d.%m.%Y", "%%%d%m%Y", 7],
)
def test_forms_of_dates_that_are_none(form: Any) -> None:
    with refused(ParameterError, "date_format must have each of"):
        dh.Files("t.csv", date_format=form)
    decimals: list[Any] = ["", ";", ".,", None, 1]
    for decimal in decimals:
        with refused(ParameterError, "decimal must be"):
            dh.Files("t.csv", decimal=decimal)
