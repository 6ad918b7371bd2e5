"""Errors of the command line name options, those of Python parameters, whoever found the fault."""

import re
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands.in_options import in_options, options_of

KNOWN = {"epsilon", "delta", "null_users", "max_labels", "delimiter", "column", "label", "user"}


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("epsilon must be above 0", "--epsilon must be above 0"),
        ("max_labels must be at least 1", "--max-labels must be at least 1"),
        ("epsilon, delta and max_labels are", "--epsilon, --delta and --max-labels are"),
        ('use null_users="drop" or, "separate"', 'use --null-users drop or, "separate"'),
        ("give delimiter='\\t'", "give --delimiter tab"),
        ("give delimiter=';': so", "give --delimiter ';': so"),
        ("made with max_labels=3, not 4", "made with --max-labels 3, not 4"),
        ("column 'epsilon' has no max_labels", "column 'epsilon' has no --max-labels"),
        ("'/data/null_users=x/delta.csv' is no file", "'/data/null_users=x/delta.csv' is no file"),
        ("rows without a label, of one user", "rows without a label, of one user"),
        ("nothing here: an unknown_name=3", "nothing here: an unknown_name=3"),
        ("it's the max_labels of one", "it's the --max-labels of one"),
    ],
)
def test_parameters_become_options_and_names_stay(said: str, typed: str) -> None:
    assert in_options(said, options_of(KNOWN)) == typed
    assert in_options(said, {}) == said


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("max_labels must hold known labels", ["max_labels"]),
        ("the file epsilon, max_labels is not there", ["epsilon", "max_labels"]),
        ("could not write /w/max_labels/x.json: no", []),
        ("could not write label=x/t.json: no", ["label=x/t.json"]),
        ("table.csv delta has appeared", ["table.csv", "delta"]),
    ],
)
def test_what_was_typed_stays_as_it_was(said: str, typed: list[str]) -> None:
    assert in_options(said, options_of(KNOWN), typed) == said


ROWS = "who;drug;n\n1;a;2\n;b;3\n1;;1\n"
BUDGET = ("--epsilon", "1", "--delta", "1e-6")
WRONG = {
    "delimiter": (("labels", "--label", "drug", *BUDGET), "--delimiter ';'"),
    "null users": (
        ("labels", "--label", "drug", "--user", "who", "--max-labels", "2", "--delimiter", ";",
         "--null-labels", "drop", *BUDGET),
        "--null-users drop",
    ),
    "null labels": (
        ("labels", "--label", "drug", "--delimiter", ";", *BUDGET), "--null-labels drop"
    ),
    "epsilon": (("labels", "--label", "drug", "--epsilon", "0", "--delta", "1e-6"), "--epsilon"),
    "delta": (("top", "--label", "drug", "--epsilon", "1", "--delta", "2"), "--delta"),
    "sensitivity": (("anonymize", "--epsilon", "1", "--sensitivity", "0"), "--sensitivity"),
    "edges": (("ranges", "--column", "n", "--edges", "3,2", "--epsilon", "1"), "--edges"),
    "widths": (
        ("ranges", "--column", "n", "--start", "0", "--stop", "7", "--width", "2", "--epsilon",
         "1"),
        "--start and --stop",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("typed", "named"), WRONG.values(), ids=WRONG)
def test_the_command_line_speaks_of_options(
    typed: tuple[str, ...], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    command, *options = typed
    assert main([command, str(path), *options]) in (1, 2)
    said = capsys.readouterr().err.replace(str(path), "FILE")
    assert named in said
    assert not re.search(r"[a-z]+_[a-z]+|[a-z]=", said)  # no parameter of Python


def test_python_speaks_of_parameters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    with pytest.raises(dh.ColumnError, match="delimiter=';'"):
        dh.LabelCounts.from_table(path, label="drug")
    with pytest.raises(dh.DataError, match='null_labels="drop"'):
        dh.LabelCounts.from_table(path, label="drug", delimiter=";")
