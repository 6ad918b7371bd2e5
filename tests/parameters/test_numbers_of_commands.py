"""Every option that is a number is read by one grammar, typed or in a configuration file."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands.registry import RELEASING, find_commands, make_parser
from tests.support.parameters.texts import SOME

# A command line for each command, apart from which only the option that is tried is wrong.
LINES = {
    "anonymize": "x.csv --label l --each-row-is-one-person --epsilon 1 --dry-run",
    "ranges": "x.csv --column c --each-row-is-one-person --edges 0,1 --epsilon 1 --dry-run",
    "labels": "x.csv --label l --user u --epsilon 1 --delta 0.1 --max-labels 1 --dry-run",
    "tables": "x.csv --axis a=x,y --tables a --each-row-is-one-person --rho 1 --dry-run",
    "groups": "x.csv --group a=x,y --column c --bins 0:9:1 --each-row-is-one-person --epsilon 1 "
    "--dry-run",
    "top": "x.csv --label l --user u --epsilon 1 --delta 0.1 --max-labels 1 --dry-run",
    "stream": "--state s.state --epsilon 1 --delta 0.1 --horizon 9 --dry-run",
    "plan labels": "",
    "plan ranges": "--bins 4 --expect-total 9",
    "plan anonymized": "--expect-total 9",
    "plan streams": "--horizon 9",
    "plan groups": "--bins 4 --expect-total 9",
    "plan tables": "--axis a=x,y --tables a",
    "plan regions": "--regions r.csv --expect-total 9",
    "add-noise": "r.json --epsilon 0.5 --output s.json",
    "ledger create": "new.ledger --epsilon 1 --delta 0.1 --unit person",
    "ledger open": "old.ledger --epsilon 1 --delta 0.1 --unit person --account b",
    "ledger plan": "old.ledger --account main --epsilon 1",
    "ledger allow": "old.ledger ann --account main --epsilon 1",
    "ledger log": "old.ledger",
    "audit": "AdaptiveScan --epsilon 1 --seconds 1",
    "compare": "--profile x.csv --epsilon 1 --seconds 1",
    "properties": "x.csv",
    "diff": "a.json b.json",
    "show": "r.json",
    "rule": "t.csv --count n --suppress-below 5 --round-to 5 --epsilon 1",
}
# What numbers are called in the help; all others are text, names or files.
NUMBERS = {
    *("A", "B", "W", "E0,E1,...", "E", "R", "D", "E,E,...", "D,D,...", "P", "T,...", "S", "SIZE"),
    *("K", "M", "N", "N,N,...", "N[,N...]"),
}
WORDS = {
    *(
        "BINS",
        "C",
        "COLUMN",
        "COLUMN,...",
        "COMMAND",
        "CSV",
        "DIR",
        "FILE",
        "FILE|URL",
        "FORMAT",
        "HTML",
        "JSON",
        "KEY",
        "LEAF",
        "NAME",
    ),
    *(
        "AGENCY:ID(VERSION)",
        "COLUMN,COLUMN,...",
        "COLUMN=LOW:HIGH:STEP",
        "NAME=N,...",
        "NAME=VALUE",
        "NAME=VALUE,...",
        "NAME=VALUES",
        "NAME,NAME,...",
        "TABLE,TABLE,...",
        "TABLE=S,...",
        "TABLE=W,...",
    ),
    *("NAMES", "PAGE", "PEM", "PICTURE", "SQL", "TEXT", "TOML", "YAML", "ZONE"),
}
LISTS: set[tuple[str, str]] = set()
"""Options of several numbers, which may have spaces around them."""
# Options that stand in the place of others; and those that need others.
INSTEAD = {
    "--rho": ["--epsilon", "--delta", "--delta-of-entries"],
    **{option: ["--edges"] for option in ("--start", "--stop", "--width")},
    "--sensitivity": ["--label"],
}
BESIDE = {
    "--start": "--stop 9 --width 1",
    "--stop": "--start 0 --width 1",
    "--width": "--start 0 --stop 9",
    "--times": "--delta 0.1",
    "--show-below": "--table t2.csv",
    "--sums-share": "--sum x=0:1:1",
}


def _options(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _options(below, f"{words} {name}")
        elif action.option_strings and action.nargs != 0 and action.choices is None:
            option = action.option_strings[-1]
            assert action.metavar is None or action.metavar in NUMBERS | WORDS, (words, option)
            is_number = action.metavar is None or action.metavar in NUMBERS
            if action.metavar is not None and "," in action.metavar:
                LISTS.add((words, option))
            if is_number and option != "--separator":
                yield words, option


def _every_option() -> Iterator[tuple[str, str]]:
    for name in find_commands():
        parsers = make_parser([name])._actions
        of = next(each for each in parsers if isinstance(each, argparse._SubParsersAction))
        yield from _options(of.choices[name], name)


OPTIONS = list(_every_option())


def line(command: str, option: str, text: str, line: str = "") -> list[str]:
    """Return a command line, with another value of an option, or with the option."""
    words = (line or LINES[command]).split()
    for other in [option, *INSTEAD.get(option, [])]:
        if other in words:
            place = words.index(other)
            del words[place : place + 2]
    if command != "plan regions":  # it needs no column
        words += BESIDE.get(option, "").split()
    if (command, option) == ("ledger allow", "--rho"):
        words[words.index("main")] = "zcdp"
    given = [option, text] if len(option) == 2 else [f"{option}={text}"]
    return [*command.split(), *words, *given]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("count,prevalence\n1,2\n")
    (tmp_path / "r.csv").write_text("Bern,North\nLugano,South\n")
    (tmp_path / "t.csv").write_text("a,n\nx,1\ny,9\n")
    dh.LeafCounts(epsilon=1, bins=2).release([4, 5]).save("r.json")
    ledger = dh.Ledger.create("old.ledger", epsilon=1, delta="0.1", unit="person")
    ledger.open_account("zcdp", rho=1, unit="person")
    return tmp_path


@pytest.mark.long(every=4)
@pytest.mark.quick("[one", every=7)
@pytest.mark.parametrize(("command", "option"), OPTIONS)
@pytest.mark.parametrize("tried", ["one", "all"])
def test_every_number_of_a_command_is_read_alike(tried, command, option, folder, capsys) -> None:
    for text in SOME[:1] if tried == "one" else SOME:
        if (command, option) in LISTS and text.strip() != text:
            continue
        given = f"{text},20" if option == "--edges" else text
        assert main(line(command, option, given)) == 2, text
        said = capsys.readouterr().err
        assert option in said.partition("See ")[0], said


# Options that are called otherwise than the parameters of the library.
OTHERWISE = [
    *(("anonymize", "--expect-total"), ("anonymize", "--expect-shape")),
    *(("ranges", "--expect-total"), ("plan ranges", "--expect-total")),
    *(("plan labels", "--expect-users"), ("plan labels", "--known-labels-count")),
    *(("plan anonymized", "--expect-total"), ("plan anonymized", "--expect-shape")),
    *(("plan streams", "--max-events-per-user"), ("plan streams", "--expect-users")),
]


@pytest.mark.parametrize(("command", "option"), OTHERWISE)
@pytest.mark.quick(every=2)
def test_a_number_out_of_range_is_named_as_it_was_typed(command, option, folder, capsys) -> None:
    for text in ("-1", "9" * 30):
        assert main(line(command, option, text)) == 2
        assert capsys.readouterr().err.startswith(f"dphist: {option} must be ")


# --- In a configuration file


def section(command: str, option: str, value: str) -> str:
    """Return a section for a command line with another value, written as TOML."""
    words = line(command, option, "TRIED")[1:]
    words.remove("--dry-run")
    keys = ["command = " + repr(command)]
    if not words[0].startswith("--"):
        keys.append(f"file = {words.pop(0)!r}")
    for word in " ".join(words).replace("-k TRIED", "--k=TRIED").replace(" --", "\n--").split("\n"):
        key, _, text = word.removeprefix("--").replace(" ", "=", 1).partition("=")
        keys.append(f"{key} = {value if text == 'TRIED' else repr(text) if text else 'true'}")
    return "[one]\n" + "\n".join(keys) + "\n"


CONFIGURED = [(command, option) for command, option in OPTIONS if command in RELEASING]
BARE = {"1_0": "1_0", "0x1": "0x1", "0o7": "0o7", "0b1": "0b1", "1e0_1": "1e0_1", "1_0.5": "1_0.5"}


@pytest.mark.long(every=4)
@pytest.mark.quick("[one", every=5)
@pytest.mark.parametrize(("command", "option"), CONFIGURED)
@pytest.mark.parametrize("tried", ["one", "all"])
def test_every_number_of_a_configuration_is_read_alike(
    tried, command, option, folder, capsys
) -> None:
    """Python's reader of TOML takes prefixes and underscores as TOML does."""
    key = option.lstrip("-")
    bare = [*BARE, "inf", "nan", "9" * 5000]
    texts = [*bare[:1], *(f"'{text}'" for text in SOME[:1])]
    if tried == "all":
        texts = [*bare, *(f"'{text}'" for text in SOME)]
    for text in texts:
        Path("c.toml").write_text(section(command, option, text), encoding="utf-8")
        if key == "edges":  # which may be infinite at both ends
            Path("c.toml").write_text(section(command, option, f"[{text}, 20, 10]"))
        if key.startswith("expect-"):
            assert main([command, "--config", "c.toml", "--dry-run"]) == 2, text
        else:
            assert main(["run", "c.toml", "--dry-run"]) in (2, 1), text
        said = capsys.readouterr().err
        assert key in said or "has the number" in said or "digits" in said


@pytest.mark.verify
def test_numbers_of_a_configuration_are_those_that_are_typed(folder, capsys) -> None:
    said = set()
    for value in ("0.5", "5e-1", "'1/2'", "+0.50"):
        Path("c.toml").write_text(section("anonymize", "--epsilon", value))
        assert main(["run", "c.toml", "--dry-run"]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1
