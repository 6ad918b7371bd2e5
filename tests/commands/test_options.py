"""Options are one table: from the fields of mechanisms, typed or in a configuration."""

import shlex
from argparse import Namespace
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest

from dphist.cli import main
from dphist.commands.configuration import read_configured
from dphist.commands.options import UsageError
from dphist.commands.parsing import check_options
from dphist.commands.registry import parse_command_line
from dphist.document.options import (
    Command,
    Excludes,
    Needs,
    Option,
    make_option,
    make_options,
    read_given,
    whole,
)
from dphist.errors import ParameterError
from dphist.mechanism import parameter


@dataclass(frozen=True)
class Mine:
    """A mechanism with a parameter of each type."""

    epsilon: Fraction = parameter("What it costs.", symbol="E")
    size: int | None = parameter("Labels of a page.")
    rounded: bool = parameter("Whether counts are rounded.", needs=[("size", "pages are")])
    law: Literal["round", "flat"] = parameter("The law.")

    def __init__(
        self, *, epsilon: Any, size: int | None = 7, rounded: bool = False, law: str = "flat"
    ) -> None:
        pass


def test_a_field_is_an_option() -> None:
    """Its metadata and type say all of it: no edit of a command."""
    epsilon, size, rounded, law = make_options(Mine)
    assert (epsilon.written, epsilon.meaning, epsilon.value) == ("--epsilon", "what it costs", "E")
    assert (size.meaning, size.value, size.read) == ("labels of a page (default: 7)", "N", whole)
    assert rounded.is_flag
    assert rounded.rules == (Needs(["size"], "pages are"),)
    assert (law.choices, law.meaning) == (("round", "flat"), "the law (default: flat)")
    changed = make_option(Mine, "size", ", at most", name="most", typed="-s", default=3)
    assert (changed.written, changed.parameter, changed.key) == ("-s", "size", "s")
    assert changed.meaning == "labels of a page, at most (default: 3)"
    assert make_options(Mine, but=["epsilon", "rounded", "law"]) == [size]
    given = Namespace(epsilon="1", size=None, rounded=False, law="round")
    assert read_given(given, make_options(Mine), Mine) == {"epsilon": "1", "law": "round"}


def test_errors_name_the_option_that_was_given() -> None:
    """Two options may set one parameter."""
    listed = Option("known_labels", "", "FILE", parameter="labels")
    counted = Option("known_labels_count", "", "N", whole, parameter="labels")
    command = Command(text="", table=[listed, counted])
    for file, number, name in (
        ("l", None, "labels"),
        (None, 3, "labels-count"),
        (None, None, "labels"),
    ):
        given = Namespace(known_labels=file, known_labels_count=number)
        assert command.name_options(given)["labels"] == f"--known-{name}"


TABLE = [
    Option("user", ""),
    Option("size", "", "N", whole, least=1, most=9, neutral=1, rules=(Needs(["user"], "why"),)),
    Option("law", "", choices=("a", "b"), rules=(Excludes(["user"], "so", "b"),)),
    Option("guess", "", "N", whole, dry_run="ask later"),
    Option("either", "", rules=(Needs(["user", "size"], "that"),)),
]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": 0}, "size must be at least 1"),
        ({"size": 10, "user": True}, "size must be at most 9"),
        ({"size": 2}, "size needs user: why"),
        ({"size": 1}, ""),
        ({"size": 2, "user": True}, ""),
        ({"law": "b", "user": True}, "law='b' does not go with user: so"),
        ({"law": "a", "user": True}, ""),
        ({"guess": 3}, "guess is for --dry-run; ask later"),
        ({"guess": 3, "dry_run": True}, ""),
        ({"either": True}, "either needs user or size: that"),
        ({"either": True, "size": 1}, ""),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], said: str) -> None:
    none = {each.name: None for each in TABLE}
    options = Namespace(**{**none, "dry_run": False, "command": Command(text="", table=TABLE)})
    vars(options).update(given)
    if not said:
        check_options(options)
        return
    with pytest.raises((ParameterError, UsageError)) as caught:
        check_options(options)
    assert str(caught.value) == said


SAME = {
    "ranges x.csv --column a --column b --edges 0,1.5,9 --edges=-inf,5,inf --epsilon 0.1 "
    "--user u --max-records 2 --unit person/people --workload prefix --delimiter tab": """
        command = "ranges"
        file = "x.csv"
        column = ["a", "b"]
        edges = [[0, 1.5, 9], "-inf,5,inf"]
        epsilon = 0.1
        user = "u"
        max_records = 2
        unit = "person/people"
        workload = "prefix"
        delimiter = "tab" """,
    "labels x.csv --label l --epsilon 1 --delta 1e-6 --only-labels --title T --account a "
    "--account b --reserve --threads 2": """
        command = "labels"
        file = "x.csv"
        label = "l"
        epsilon = 1
        delta = 1e-6
        only-labels = true
        correlated = false
        title = "T"
        account = ["a", "b"]
        reserve = true
        threads = 2 """,
    "top x.csv --label l --epsilon 1/3 --delta 1e-6 -k 3": """
        command = "top"
        file = "x.csv"
        label = "l"
        epsilon = "1/3"
        delta = 1e-6
        k = 3 """,
    "stream --state s --epsilon 1 --delta 1e-6 --horizon none --readings 3 --every-seconds 0.5": """
        command = "stream"
        state = "s"
        epsilon = 1
        delta = 1e-6
        horizon = "none"
        readings = 3
        every-seconds = 0.5 """,
}


@pytest.mark.parametrize("line", SAME)
def test_a_configuration_says_what_could_be_typed(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(f"[one]{SAME[line]}\n")
    words = shlex.split(line)
    found = read_configured([words[0], "--config", "c.toml"])
    assert found is not None
    read, typed = vars(found), vars(parse_command_line(words))
    assert typed["command"].options == read["command"].options
    for name in ("config", "configuration", "write", "command"):
        read.pop(name)
        typed.pop(name, None)
    assert read == typed


@pytest.mark.parametrize(
    "words",
    [
        "labels v.csv --label ward --user who --max-labels 1 --epsilon 1 --known-labels wards.txt",
        "tables v.csv --axis ward=@wards.txt --tables ward --epsilon 1 --each-row-is-one-person",
        "groups v.csv --group ward=@wards.txt --column age --bins 0:90:30 --epsilon 1 "
        "--each-row-is-one-person",
        "anonymize v.csv --label who --region ward --regions wards.txt --epsilon 1 "
        "--each-row-is-one-person",
    ],
    ids=["labels", "tables", "groups", "anonymize"],
)
def test_a_public_list_has_no_header(words, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.txt").write_text("ward\nA\nB\n")
    assert main([*words.split(), "--dry-run"]) != 0
    said = capsys.readouterr().err
    assert "wards.txt has the header 'ward', and each line must be a value" in said
    Path("wards.txt").write_text("A\nward\n")  # a value of this name
    assert main([*words.split(), "--dry-run"]) == 0
