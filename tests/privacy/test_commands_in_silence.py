"""Neighbouring files give the same exit code and the same words on standard error.

Unless the row that differs is invalid in itself. In a process of its own for each file, where all
that any library writes to the standard streams is seen.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dphist as dh

ROWS = 300
ODD_FLOATS = [0x7F800001, 0xFF800001, 0x7FC00000, 0x7F800000, 0x80000000, 0x00000001]
ODD_TEXTS = ["", "\0", "\ud7ff", "a" * 100_000, "-", "NaN", "\u202e", "\x1b[31m", "'; DROP", "{}"]
RANGES = [
    "ranges",
    "--each-row-is-one-person",
    "--column",
    "x",
    "--edges",
    "0,1,2",
    "--epsilon",
    "1",
    "--quiet",
]
LABELS = [
    "labels",
    "--each-row-is-one-person",
    "--label",
    "t",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--quiet",
]
PROFILE = ["anonymize", "--each-row-is-one-person", "--label", "t", "--epsilon", "1", "--quiet"]


def run_on(arguments: list[str], table: pa.Table, folder: Path) -> tuple[int, bytes, bytes]:
    """Run a command on a file; return its exit code and what it printed."""
    path = folder / "t.parquet"
    pyarrow.parquet.write_table(table, path)
    output = folder / "release.json"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-W", "always", "-m", "dphist", arguments[0], str(path)]
    done = subprocess.run(
        [*command, *arguments[1:], "--output", str(output)], capture_output=True, check=False
    )
    if done.returncode == 0:
        dh.Release.load(output)
    return done.returncode, done.stdout, done.stderr


def odd_table(floats: list[int], texts: list[str]) -> pa.Table:
    numbers = np.concatenate([np.ones(ROWS, np.float32), np.array(floats, np.uint32).view("f4")])
    labels = ["common"] * ROWS + texts
    rows = max(len(numbers), len(labels))
    return pa.table(
        {
            "x": pa.array(np.resize(numbers, rows)),
            "t": pa.array(labels + ["common"] * (rows - len(labels))),
        }
    )


@pytest.mark.verify
@pytest.mark.parametrize("arguments", [RANGES, LABELS, PROFILE], ids=lambda each: each[0])
def test_odd_values_say_nothing(arguments: list[str], tmp_path: Path) -> None:
    """All odd values at once are one neighbour; each alone would take as long."""
    for data in (odd_table([], []), odd_table(ODD_FLOATS, []), odd_table([], ODD_TEXTS)):
        assert run_on(arguments, data, tmp_path) == (0, b"", b"")


@pytest.mark.parametrize("arguments", [LABELS, PROFILE], ids=lambda each: each[0])
@pytest.mark.verify
def test_an_invalid_row_says_the_same_whatever_the_others_are(
    arguments: list[str], tmp_path: Path
) -> None:
    found = set()
    for others in ([], ["common"] * ROWS, ODD_TEXTS):
        data = pa.table({"t": pa.array([*others, None], pa.string())})
        code, out, err = run_on(arguments, data, tmp_path)
        found.add((code, out, err.replace(bytes(tmp_path), b"")))
    ((code, out, err),) = found
    assert (code, out) == (1, b"")
    assert b"'t' has rows without a label" in err
    assert b"common" not in err
