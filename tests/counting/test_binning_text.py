"""Bins of text files: what a field may look like, and what happens if it does not."""

from pathlib import Path
from typing import Any

import pytest

from dphist.data.binned_counts import bin_counts
from dphist.errors import DataError, InputFileError
from tests.support.counting.backends import written
from tests.support.counting.plain_bins import INFINITY
from tests.support.refusal import NUMBER, SENTINEL, refused


@pytest.mark.verify
@pytest.mark.parametrize(
    ("text", "edges", "slot"),
    [
        ("5", [5, 6], 1),
        ("+5", [5, 6], 1),
        (" 5 ", [5, 6], 1),
        ("-007", [-7, 6], 1),
        ("0.1", [0.1, 0.2], 1),
        (".5", [0.5, 1], 1),
        ("5.", [5, 6], 1),
        ("+1.5e-1", [0.15, 1], 1),
        ("1E3", [1000, 1001], 1),
        ("9007199254740993", [2**53 + 1, 2**53 + 2], 1),
        ("9223372036854775806", [2**63 - 2, 2**63 - 1], 1),
        ("99999999999999999999999999999999999999", [0, 1], 2),
        ("9" * 60, [0, 1], 2),
        ("-inf", [0, 1], 0),
        ("Infinity", [0.0, INFINITY], 1),
        ("nan", [0, 1], 3),
        ("-NaN", [0, 1], 3),
        ("", [0, 1], 3),
        ("2024-01-31", ["2024-01-31", "2024-02-01"], 1),
        ("2024-01-31 12:30", ["2024-01-31", "2024-02-01"], 1),
        ("2024-01-31T12:30:15.1234569", ["2024-01-31T12:30:15.123456", "2024-01-31T13:00"], 1),
        ("2024-01-31T01:00:00.5Z", ["2024-01-31T00:00Z", "2024-02-01T00:00Z"], 1),
        ("2024-01-31T01:00-0200", ["2024-01-31T03:00Z", "2024-01-31T04:00Z"], 1),
        ("0001-01-01", ["2024-01-30", "2024-01-31"], 0),
    ],
)
def test_fields_that_are_read(text: str, edges: list[Any], slot: int, tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"id,x\n1,{text}\n".encode())
    found = bin_counts(path, column="x", edges=edges)
    slots = [found.underflow, *found.counts, found.overflow, found.nulls]
    assert [int(n) for n in slots] == [int(k == slot) for k in range(4)]


@pytest.mark.parametrize(
    "text",
    [SENTINEL, "0x1F", "1_000", "1e", "--5", "++5", "NA", '""', "1 2", "١", "1,5", "1e99999", "."],
)
@pytest.mark.quick(every=3)
def test_fields_that_are_no_numbers(text: str, tmp_path: Path) -> None:
    quoted = f'"{text}"' if "," in text else text
    path = written(tmp_path, "t.csv", f"id,x\n1,{quoted}\n2,{NUMBER}\n".encode())
    for edges in ([0, 1], [0.5, 1.5]):
        with refused(DataError, "'x'", "numbers"):
            bin_counts(path, column="x", edges=edges)


@pytest.mark.parametrize(
    "text",
    [
        *(SENTINEL, "20240131", "2024-02-31", "31.01.2024", "2024-01-31T25:00", "1", "2024-1-31"),
        *("2024-01-31T01:00Z", "2024-01-31 01:00:00+02:00"),  # the edges have no zone
    ],
)
def test_fields_that_are_no_times(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"id,x\n1,{text}\n2,2024-01-31\n".encode())
    with refused(DataError, "'x'", "dates"):
        bin_counts(path, column="x", edges=["2024-01-01", "2024-01-02"])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.tsv.gz"])
def test_damaged_files(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, b"\x1f\x8b\x08" + SENTINEL.encode())
    with refused(InputFileError, name):
        bin_counts(path, column="x", edges=[0, 1])
    with refused(InputFileError, "does not exist"):
        bin_counts(tmp_path / f"no_{name}", column="x", edges=[0, 1])


def test_a_damaged_line_and_progress(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"id,x\n1,2\n1,{NUMBER},3\n".encode())
    with refused(InputFileError, "t.csv"):
        bin_counts(path, column="x", edges=[0, 1])
    seen: list[float] = []
    path = written(tmp_path, "t.csv", b"id,x\n1,2\n")
    bin_counts(path, column="x", edges=[0, 1], progress=seen.append)
    assert seen[-1] == 1
