"""The same rows in each format of files, for tests that compare how they are read."""

import datetime
import json
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter
from hypothesis import strategies as st

import dphist as dh

NAMES = ("who", "word", "n")
Rows = Sequence[Sequence[Any]]


def to_csv(rows: Rows, names: Sequence[str] = NAMES) -> str:
    """Write rows with every value quoted, so that the empty text and a missing value differ."""
    lines = [",".join(map(quoted, row)) + "\n" for row in (names, *rows)]
    return "".join(lines)


def quoted(value: Any) -> str:
    if value is None:
        return ""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    if isinstance(value, datetime.date):
        text = value.isoformat()
    return '"' + text.replace('"', '""') + '"'


def write_csv(path: Path, rows: Rows, names: Sequence[str] = NAMES) -> Path:
    path.write_bytes(to_csv(rows, names).encode())
    return path


def write_json_lines(path: Path, rows: Rows, names: Sequence[str] = NAMES) -> Path:
    lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
    path.write_text("".join(line + "\n" for line in lines))
    return path


def write_sqlite(path: Path, rows: Rows, names: Sequence[str] = NAMES) -> Path:
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE given ({', '.join(names)})")
    places = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO given VALUES ({places})", rows)  # noqa: S608
    connection.commit()
    connection.close()
    return path


def write_xlsx(
    path: Path, rows: Rows, names: Sequence[str] = NAMES, sheets: Sequence[str] = ("one",)
) -> Path:
    """Write rows to the first sheet; missing values and empty texts are empty cells."""
    options = {"strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(path, options) as book:
        day = book.add_format({"num_format": "dd.mm.yyyy"})
        first, *_ = (book.add_worksheet(name) for name in sheets)
        for place, row in enumerate((names, *rows)):
            for column, value in enumerate(row):
                if isinstance(value, datetime.date):
                    first.write_datetime(place, column, value, day)
                elif isinstance(value, bool):
                    first.write_boolean(place, column, value)
                elif isinstance(value, int | float):
                    first.write_number(place, column, value)
                elif value is not None:
                    first.write_string(place, column, value)
    return path


def write_zip(path: Path, files: Sequence[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return path


def write_zipped_csv(path: Path, rows: Rows, names: Sequence[str] = NAMES) -> Path:
    """Write an archive of two text files, each with some of the rows."""
    half = len(rows) // 2
    parts = (rows[:half], rows[half:])
    return write_zip(
        path, [(f"{place}.csv", to_csv(part, names).encode()) for place, part in enumerate(parts)]
    )


WRITERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "json lines": ("t.jsonl", write_json_lines),
    "sqlite": ("t.sqlite", write_sqlite),
    "zip": ("t.zip", write_zipped_csv),
    "xlsx": ("t.xlsx", write_xlsx),
}
SPREADSHEETS = ("xlsx",)


def count(frame: Any, **more: Any) -> dict[Any, int]:
    """Return all counts of labels, with users bounded to more labels than they have."""
    columns = {"label": "word", "user": "who", "count": "n"}
    bounds = {"max_labels": 100, "max_count": 1000}
    given: dict[str, Any] = {
        **columns,
        **bounds,
        "null_users": "separate",
        "null_labels": "drop",
        **more,
    }
    counts = dh.LabelCounts.from_table(frame, **given)
    found = counts.filter_batches(lambda batch: batch)
    return dict(zip(found["label"].to_pylist(), found["count"].to_pylist(), strict=True))


def profile(frame: Any) -> dh.Profile:
    """Return how many labels have how many rows, with users as labels."""
    return dh.Profile.from_table(frame, label="who")


TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab\",;'\\\n\r\t 0"),
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Co", "Cn"]),
    ),
    max_size=6,
)
USERS = st.one_of(st.none(), st.integers(-(2**53) + 1, 2**53 - 1), st.integers(0, 3))
ROWS = st.lists(
    st.tuples(
        st.one_of(USERS, TEXTS),
        st.one_of(st.none(), st.integers(0, 3), TEXTS),
        st.integers(0, 5),
    ),
    max_size=12,
)
