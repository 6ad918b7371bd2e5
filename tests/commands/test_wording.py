"""Errors of the command line name options, those of Python parameters, whoever found the fault."""

import re
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands.printing import as_keys, as_options
from dphist.errors import Argument, DphistError, Message, ParameterError

KNOWN = {
    name: f"--{name.replace('_', '-')}"
    for name in ("epsilon", "delta", "null_users", "max_labels", "delimiter", "directed", "horizon")
} | {"file": "FILE", "labels": "--known-labels"}
DROP = Argument("null_users", "drop")
LABELS = Argument("max_labels")


@pytest.mark.parametrize(
    ("error", "python", "typed", "keys"),
    [
        (
            ParameterError("epsilon", "must be above 0"),
            "epsilon must be above 0",
            "--epsilon must be above 0",
            "epsilon must be above 0",
        ),
        (
            ParameterError(("epsilon", "delta", "max_labels"), "are too large"),
            "epsilon, delta and max_labels are too large",
            "--epsilon, --delta and --max-labels are too large",
            "epsilon, delta and max-labels are too large",
        ),
        (
            ParameterError("epsilon", "is too small", "raise " + Argument("epsilon")),
            "epsilon is too small; raise epsilon",
            "--epsilon is too small; raise --epsilon",
            "epsilon is too small; raise epsilon",
        ),
        (
            DphistError("use " + DROP + ' or, "separate"'),
            "use null_users='drop' or, \"separate\"",
            'use --null-users drop or, "separate"',
            'use null-users = "drop" or, "separate"',
        ),
        (
            DphistError("give " + Argument("delimiter", "\t")),
            "give delimiter='\\t'",
            "give --delimiter tab",
            'give delimiter = "\\t"',
        ),
        (
            DphistError("give " + Argument("delimiter", ";") + ": so"),
            "give delimiter=';': so",
            "give --delimiter ';': so",
            'give delimiter = ";": so',
        ),
        (
            DphistError("made with " + Argument("max_labels", 3) + ", not 4"),
            "made with max_labels=3, not 4",
            "made with --max-labels 3, not 4",
            "made with max-labels = 3, not 4",
        ),
        (
            DphistError("leave out " + Argument("directed", True)),
            "leave out directed=True",
            "leave out --directed",
            "leave out directed = true",
        ),
        (
            DphistError("count with " + Argument("directed", False)),
            "count with directed=False",
            "count with no --directed",
            "count with directed = false",
        ),
        (
            DphistError("give " + Argument("horizon", None)),
            "give horizon=None",
            "give --horizon none",
            'give horizon = "none"',
        ),
        (
            ParameterError(("labels", "file"), "differ"),
            "labels and file differ",
            "--known-labels and FILE differ",
            "known-labels and file differ",
        ),
    ],
)
def test_each_language_is_made_from_the_same_values(
    error: DphistError, python: str, typed: str, keys: str
) -> None:
    assert str(error) == error.format(as_options({})) == error.format(as_keys({})) == python
    assert error.format(as_options(KNOWN)) == typed
    assert error.format(as_keys(KNOWN)) == keys


@pytest.mark.parametrize(
    "message",
    [
        "column 'epsilon' has no max_labels",
        "'/data/null_users=x/delta.csv' is no file",
        "rows without a label, of one user",
        "the file epsilon, max_labels is not there",
        "could not write /w/max_labels/x.json: no",
        "table.csv delta has appeared",
        "nothing here: an " + Argument("unknown_name", 3),
    ],
)
def test_texts_and_other_names_stay(message: Message) -> None:
    error = DphistError(message)
    assert error.format(as_options(KNOWN)) == error.format(as_keys(KNOWN)) == str(error)


ROWS = "who;drug;n\n1;a;2\n;b;3\n1;;1\n"
BUDGET = ("--epsilon", "1", "--delta", "1e-6")
EACH = "--each-row-is-one-person"
DRUG = ("--label", "drug", "--delimiter", ";")
LABEL = (*DRUG, EACH)
USER = ("--user", "who", "--max-labels", "2")
RANGE = ("ranges", "--column", "n", "--delimiter", ";", EACH)
ANONYMIZED = ("anonymize", *LABEL)
PLAN = ("plan", "labels", "--max-labels", "1")
STREAM = ("stream", "--state", "s.state")
NEW = (*STREAM, "--horizon", "9")
COMPARE = ("compare", "--labels", "commas.csv", "--label", "drug")

WRONG = {
    "delimiter": (("labels", "t.csv", "--label", "drug", EACH, *BUDGET), "--delimiter ';'"),
    "null users": (
        ("labels", "t.csv", *DRUG, *USER, "--null-labels", "drop", *BUDGET), "--null-users drop"
    ),
    "null labels": (("labels", "t.csv", *LABEL, *BUDGET), "--null-labels drop"),
    "columns": (("labels", "t.csv", *DRUG, "--user", "drug", "--max-labels", "1", *BUDGET),
                "--user and --label"),
    "epsilon": (("labels", "t.csv", *LABEL, "--epsilon", "0", "--delta", "1e-6"), "--epsilon"),
    "max labels": (("labels", "t.csv", *DRUG, "--user", "who", "--max-labels", "0", *BUDGET),
                   "--max-labels"),
    "max count": (("labels", "t.csv", *LABEL, "--count", "n", "--max-count", "0", *BUDGET),
                  "--max-count"),
    "small epsilon": (("labels", "t.csv", *LABEL, "--epsilon", "1e-12", "--delta", "1e-6"),
                      "--epsilon"),
    "known labels": (("labels", "t.csv", *LABEL, "--known-labels", "twice.txt", "--epsilon", "1"),
                     "twice.txt"),
    "delta": (("top", "t.csv", *LABEL, "--epsilon", "1", "--delta", "2"), "--delta"),
    "k": (("top", "t.csv", *LABEL, *BUDGET, "-k", "0"), "-k must be"),
    "candidates": (("top", "t.csv", *LABEL, *BUDGET, "-k", "9", "--candidates", "2"),
                   "--candidates must be at least -k"),
    "sensitivity": (("anonymize", "t.csv", "--epsilon", "1", "--sensitivity", "0"),
                    "--sensitivity"),
    "quotient": ((*ANONYMIZED, "t.csv", "--epsilon", "1e-15", "--sensitivity", "9"),
                 "--epsilon divided by --sensitivity is too small"),
    "max records": (("anonymize", *DRUG, "t.csv", "--user", "who", "--max-records", "0",
                     "--epsilon", "1"),
                    "--max-records"),
    "delimiter of two": (("anonymize", "t.csv", "--label", "drug", EACH, "--delimiter", "ab",
                          "--epsilon", "1"), "--delimiter"),
    "title": ((*ANONYMIZED, "t.csv", "--epsilon", "1", "--title", ""), "--title"),
    "label name": ((*ANONYMIZED, "t.csv", "--epsilon", "1", "--label-name", "a/b/c"),
                   "--label-name must be"),
    "memory": ((*ANONYMIZED, "t.csv", "--epsilon", "1", "--memory", "1"), "--memory"),
    "shape": ((*ANONYMIZED, "t.csv", "--epsilon", "1", "--dry-run", "--expect-total", "9",
               "--expect-shape", "99"), "--expect-shape"),
    "edges": ((*RANGE, "t.csv", "--edges", "3,2", "--epsilon", "1"), "--edges"),
    "widths": ((*RANGE, "t.csv", "--start", "0", "--stop", "7", "--width", "2", "--epsilon", "1"),
               "--start and --stop"),
    "width": ((*RANGE, "t.csv", "--start", "0", "--stop", "8", "--width", "0", "--epsilon", "1"),
              "--width"),
    "stop": ((*RANGE, "t.csv", "--start", "8", "--stop", "8", "--width", "1", "--epsilon", "1"),
             "--stop must be greater than --start"),
    "dates": ((*RANGE, "t.csv", "--start", "2024-01-31", "--stop", "2025-01-31", "--width", "1mo",
               "--epsilon", "1"), "its month where --width is in months"),
    "bins": ((*RANGE, "t.csv", "--start", "0", "--stop", "1e9", "--width", "1", "--epsilon", "1"),
             "--width"),
    "setting": ((*PLAN, "--epsilon", "0", "--delta", "1e-6"), "--epsilon"),
    "settings": ((*PLAN, "--epsilon", "1,1", "--delta", "1e-6"), "--epsilon must have each"),
    "criterion": ((*PLAN, *BUDGET, "--criterion", "great"), "--criterion 'great' cannot be read"),
    "kind": ((*PLAN, *BUDGET, "--criterion", "range error < 1 %"), "--criterion"),
    "expected users": ((*PLAN, *BUDGET, "--expect-users", "0"), "--expect-users"),
    "expected total": (("plan", "anonymized", "--epsilon", "1", "--expect-total", "0"),
                       "--expect-total"),
    "stream": ((*NEW, "--epsilon", "0", "--delta", "1e-6"), "--epsilon"),
    "listed": ((*NEW, *BUDGET, "--known-labels", "twice.txt"), "twice.txt"),
    "windows": ((*NEW, *BUDGET, "--every", "0"), "--every"),
    "compared": ((*COMPARE, "--epsilon", "0", "--delta", "1e-6"), "--epsilon"),
    "seconds": ((*COMPARE, *BUDGET, "--seconds", "0"), "--seconds"),
    "mechanism": ((*COMPARE, *BUDGET, "--mechanism", "none"), "--mechanism"),
    "audited": (("audit", "LeafCounts", "--epsilon", "x"), "--epsilon"),
    "positional": (("audit", "none", "--epsilon", "1"), "MECHANISM must be one of"),
    "confidence": (("audit", "LeafCounts", "--confidence", "1"), "--confidence"),
    "resamples": (("properties", "counts.csv", "--resamples", "1"), "--resamples"),
    "extra": (("properties", "counts.csv", "--extra", "0"), "--extra"),
    "budget": (("ledger", "create", "l.ledger", "--epsilon", "0", "--unit", "one user"),
               "--epsilon"),
    "two budgets": (("ledger", "create", "l.ledger", "--epsilon", "1", "--rho", "1", "--unit",
                     "one user"), "--rho"),
    "address": (("ledger", "create", "mysql://x", "--epsilon", "1", "--unit", "one user"),
                "LEDGER must be"),
    "ledger": ((*ANONYMIZED, "t.csv", "--epsilon", "1", "--ledger", "mysql://x", "--by", "a",
                "--key", "k"), "--ledger must be"),
    "release": (("show", "none.json"), "none.json"),
    "cited": (("cite", "none.json"), "none.json"),
    "checked": (("check", "none.json", "--plan", "none.json"), "none.json"),
    "disclosed": (("disclose", "none.json", "--about", "a.toml"), "none.json"),
    "configuration": (("run", "a.toml"), 'a.toml: [a]: max-labels must be at least 1'),
    "section": (("labels", "--config", "b.toml"), 'null-users = "drop"'),
}  # fmt: skip


@pytest.mark.parametrize(("typed", "named"), WRONG.values(), ids=WRONG)
def test_the_command_line_speaks_of_options(
    typed: tuple[str, ...],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(ROWS)
    Path("commas.csv").write_text("drug\na\n")
    Path("counts.csv").write_text("count,prevalence\n3,1\n")
    Path("twice.txt").write_text("a\na\n")
    budget = 'epsilon = 1\ndelta = "1e-6"\nuser = "who"\n'
    section = f'[a]\ncommand = "labels"\nfile = "t.csv"\nlabel = "drug"\ndelimiter = ";"\n{budget}'
    Path("a.toml").write_text(f"{section}max-labels = 0\n")
    Path("b.toml").write_text(f'{section}max-labels = 1\nnull-labels = "drop"\n')
    assert main(typed) in (1, 2)
    said = capsys.readouterr().err
    assert named in said
    assert not re.search(r"[a-z]+_[a-z]+|[a-z]=", said)  # no parameter of Python


def test_python_speaks_of_parameters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    with pytest.raises(dh.ColumnError, match="delimiter=';'"):
        dh.LabelCounts.from_table(path, label="drug")
    with pytest.raises(dh.DataError, match="null_labels='drop'"):
        dh.LabelCounts.from_table(path, label="drug", delimiter=";")
