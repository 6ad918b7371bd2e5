"""What commands say of their options, and of wrong ones, letter by letter: see `golden/`."""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dphist.cli import main
from dphist.commands.ledger.payment import describe_data
from dphist.commands.registry import find_commands, make_parser, parse_command_line
from tests.support.golden import check_golden

GOLDEN = Path(__file__).parent / "golden"


def described(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield what a parser says and takes, and its subcommands; no line depends on the Python."""
    yield f"{parser.prog}: {parser.description}"
    for group in parser._action_groups:
        if group._group_actions and group.title not in ("positional arguments", "options"):
            yield f"[{group.title}] {group.description or ''}"
        for action in group._group_actions:
            if isinstance(action, argparse._SubParsersAction):
                continue
            name = "/".join(action.option_strings) or action.dest
            taken = action.metavar or (action.choices and "{" + ",".join(action.choices) + "}")
            facts = [str(taken or ("" if action.nargs == 0 else name.lstrip("-").upper()))]
            facts += ["required"] if action.required else []
            if action.default not in (None, False, argparse.SUPPRESS):
                facts.append(f"default {action.default!r}")
            facts += ["repeated"] if isinstance(action, argparse._AppendAction) else []
            text = argparse.HelpFormatter(parser.prog)._expand_help(action)
            yield f"  {name} ({', '.join(filter(None, facts))}): {text}"
    for exclusive in parser._mutually_exclusive_groups:
        names = [[*a.option_strings, a.dest][0] for a in exclusive._group_actions]
        yield f"{'one' if exclusive.required else 'at most one'} of {', '.join(names)}"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield ""
                yield from described(below)
    yield f"{parser.epilog}"


@pytest.mark.quick("[ranges]", "[labels]", "[plan]", "[ledger]")
@pytest.mark.parametrize("command", find_commands())
def test_help(command: str) -> None:
    parsers = make_parser([command])._actions
    of = next(each for each in parsers if isinstance(each, argparse._SubParsersAction))
    check_golden(GOLDEN / f"{command}.txt", "\n".join(described(of.choices[command])))


EACH = "--each-row-is-one-person"
LABELS = "labels t.csv --label drug --epsilon 1"
BOTH = f"{LABELS} --delta 1e-6"
STREAM = "stream --state s --epsilon 1 --delta 1e-6 --horizon 9"
RANGES = "ranges t.csv --column n --epsilon 1"
WRONG = [
    "anonymize t.csv --epsilon 1 --count n",
    "anonymize t.csv --epsilon 1 --user who",
    "anonymize t.csv --epsilon 1 --label drug --max-records auto",
    "anonymize t.csv --epsilon 1 --label drug --user who --users-by-records 1",
    "anonymize t.csv --epsilon 1 --label drug --user who --count n --max-records 2",
    "anonymize t.csv --epsilon 1 --label drug --max-records 2",
    "anonymize t.csv --epsilon 1 --label drug --user who --max-records 0",
    "anonymize t.csv --epsilon 1 --label drug --user who --max-records 2 --sensitivity 2",
    "anonymize t.csv --epsilon 1 --label drug --unit patient",
    "anonymize t.csv --epsilon 1 --label drug --user who --max-records 2 --unit ''",
    f"anonymize t.csv --epsilon 1 --label drug --expect-total 9 {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --expect-shape 2 {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --expect-rows 9 {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --expect-rows 0 --dry-run {EACH}",
    "anonymize t.csv --epsilon 1 --label drug --sensitivity x",
    f"anonymize t.csv --epsilon 1 --label drug --quiet {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --spreadsheet-safe {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --key k {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --ledger none.ledger {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --ledger '' {EACH}",
    f"anonymize t.csv --epsilon 1 --label drug --title '' {EACH}",
    "anonymize --epsilon 1 --label drug --dataset Visits",
    "anonymize t.csv --epsilon 1 --label drug --dataset none.toml",
    f"anonymize none.csv --epsilon 1 --label drug {EACH}",
    f"anonymize t.csv --epsilon 1 --epsilon 2 --label drug {EACH}",
    "anonymize t.csv --epsilon 1 --config a.toml",
    RANGES,
    f"{RANGES} --edges 0,9 --width 3 {EACH}",
    f"{RANGES} --start 0 --width 3 {EACH}",
    f"{RANGES} --edges 0,9 --edges 0,8 {EACH}",
    f"{RANGES} --edges 0,9 --mechanism tree --workload prefix {EACH}",
    f"{RANGES} --edges 0,9 --mechanism leaves --expected-total 9 {EACH}",
    f"{RANGES} --edges 0,9 --user who --max-records 9 --users-by-records 9",
    f"{RANGES} --edges 0,9 --user who --max-records 9.5",
    f"{RANGES} --edges 0,9 --expect-total 9 {EACH}",
    f"{RANGES} --edges 0,9 --expected-total x {EACH}",
    f"{RANGES} --edges 9,0 {EACH}",
    LABELS,
    f"{BOTH} --user who --only-labels",
    f"{BOTH} --user who --max-count 2",
    f"{BOTH} --user who --noise laplace",
    f"{BOTH} --max-labels auto",
    f"{BOTH} --user who --max-labels 0",
    f"{BOTH} --user drug --max-labels 1",
    f"{BOTH} --max-labels 2",
    f"{BOTH} --max-count 2",
    f"{BOTH} --count n",
    f"{BOTH} --count drug --max-count 1",
    f"{BOTH} --null-users drop",
    f"{BOTH} --unit patient",
    f"{BOTH} --users-by-labels 100 {EACH}",
    f"{BOTH} --user who --max-labels 2 --users-by-labels 100 --null-users separate",
    f"{BOTH} --expect-users 3 {EACH}",
    f"{BOTH} --expect-users 0 --dry-run {EACH}",
    f"{BOTH} --only-labels --known-labels l.txt {EACH}",
    f"{BOTH} --only-labels --users-by-labels 100 --user who --max-labels 2",
    f"{BOTH} --only-labels --noise laplace {EACH}",
    f"{BOTH} --only-labels --user who --max-labels 2 --max-count 2",
    f"{BOTH} --sums-of 2 {EACH}",
    f"{BOTH} --correlated {EACH}",
    f"{BOTH} --other {EACH}",
    f"{BOTH} --other --only-labels --known-labels l.txt {EACH}",
    f"{BOTH} --correlated --known-labels l.txt --noise laplace {EACH}",
    f"{BOTH} --known-labels none.txt {EACH}",
    f"top t.csv --label drug --epsilon 1 {EACH}",
    f"top t.csv --label drug --epsilon 1 --delta 1e-6 -k x {EACH}",
    "stream --state s",
    "stream --state s --epsilon 1",
    f"{STREAM} --label drug",
    f"{STREAM} --format ndjson --separator ,",
    f"{STREAM} --separator ''",
    f"{STREAM} --format csv --user label",
    f"{STREAM} --max-events-per-user 2",
    f"{STREAM} --format csv --user who",
    f"{STREAM} --unit patient",
    f"{STREAM} --expect-events 9",
    f"{STREAM} --every 0",
    f"{STREAM} --every-seconds 0",
    f"{STREAM} --quiet",
    f"{STREAM} --quiet --output o.json --top 2",
    f"{STREAM} --method laplace",
    "stream --state s --epsilon 1 --delta 0 --horizon 9",
    "stream --state s --epsilon 1 --delta 1e-6 --horizon none",
    "stream --state s --epsilon 1 --delta 1e-6 --horizon many",
    "plan labels --max-labels 1 --correlated",
    "plan labels --max-labels 1 --other",
    "plan labels --max-labels 1 --known-labels-count 0",
    "plan labels --max-labels 1 --quiet",
    "plan labels --max-labels 1,x",
    "plan ranges --bins 9 --expect-total 9 --unit ''",
    "check none.json --plan none.json",
    "properties none.json",
    "properties t.csv --extra ,",
    "show",
    "show r.json --key k",
    "run none.toml",
    "ledger show",
    "ledger show none.ledger",
    "ledger show l.ledger --ledger l.ledger",
    "ledger show l.ledger --report l.ledger",
    "ledger create l.ledger --epsilon 1 --unit patient",
    "ledger create n.ledger --epsilon 1 --unit ''",
    "ledger open l.ledger --account main --epsilon 1 --unit patient",
    "ledger allow l.ledger ana",
    "ledger allow l.ledger ana --remove --epsilon 1",
    "ledger plan l.ledger",
    "ledger plan l.ledger --times 2",
    "ledger plan l.ledger --epsilon 1 --times 0",
    "ledger plan l.ledger --epsilon 1 --times 2",
    "ledger log l.ledger --last 0",
    "ledger log l.ledger --spreadsheet-safe",
    "ledger verify l.ledger --public-key none.pem",
    "ledger cancel l.ledger k",
    "ledger close l.ledger --account none",
    "ledger export l.ledger o.txt",
    "ledger export l.ledger o.json --spreadsheet-safe",
    "ledger export l.ledger l.txt",
    "ledger export l.ledger t.csv",
]  # fmt: skip

RANGES_TOML = 'command = "ranges"\nfile = "t.csv"\ncolumn = "n"\n'
LABELS_TOML = 'command = "labels"\nfile = "t.csv"\nlabel = "drug"\nepsilon = 1\ndelta = 1e-6\n'
EACH_TOML = "each-row-is-one-person = true\n"
STREAM_TOML = 'command = "stream"\nstate = "s"\nepsilon = 1\ndelta = 1e-6\nhorizon = 9\n'
CONFIGURED = [
    RANGES_TOML,
    f"{RANGES_TOML}epsilon = 1\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nrho = 1\nedges = [0, 9]\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nstart = 0\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = [0, 9]\nuser = 'who'\n",
    f"{RANGES_TOML}epsilon = 1\nedges = [0, 9]\nmechanism = 'tree'\nworkload = 'prefix'\n"
    f"{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = [[0, 9], [0, 8]]\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = []\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = {{}}\nedges = [0, 9]\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = [0, 9]\nsensitivity = 'x'\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = [0, 9]\nsensitivity = [1, 2]\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = [0, 9]\nusers-by-labels = 100\n{EACH_TOML}",
    f"{RANGES_TOML}epsilon = 1\nedges = [0, 9]\nexpect_totl = 3\n{EACH_TOML}",
    f"{LABELS_TOML}user = 'who'\nonly-labels = true\n",
    f"{LABELS_TOML}max-labels = 'auto'\n{EACH_TOML}",
    f"{LABELS_TOML}max-labels = 0\nuser = 'who'\n",
    f"{LABELS_TOML}max-labels = 2\n",
    f"{LABELS_TOML}null-users = 'drop'\n",
    f"{LABELS_TOML}correlated = true\n{EACH_TOML}",
    f"{LABELS_TOML}correlated = 'yes'\n{EACH_TOML}",
    f"{LABELS_TOML}correlated = false\nsums-of = 2\n{EACH_TOML}",
    f"{LABELS_TOML}unit = 'patient'\n",
    f"{LABELS_TOML}unit = true\n",
    f"{LABELS_TOML}key = 'k'\n{EACH_TOML}",
    f"{LABELS_TOML}dry_run = true\n{EACH_TOML}",
    f"{LABELS_TOML}max_count = 1\nmax-count = 2\n",
    LABELS_TOML.replace("label =", "labl ="),
    LABELS_TOML.replace('file = "t.csv"', ""),
    LABELS_TOML.replace('label = "drug"', ""),
    f"{STREAM_TOML}format = 'csv'\nuser = 'who'\nevery = 0\n",
    f"{STREAM_TOML}every = 2\nevery-seconds = 2\n",
    f"{STREAM_TOML}every-seconds = 0\n",
    f"{STREAM_TOML}max-events-per-user = 2\n",
    STREAM_TOML.replace("horizon = 9", "horizon = 'many'"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DPHIST_LEDGER", "DPHIST_BY", "DPHIST_SIGNING_KEY"):
        monkeypatch.delenv(name, raising=False)
    Path("t.csv").write_text("who,drug,n\n1,a,2\n2,b,3\n")
    Path("l.txt").write_text("a\nb\n")
    assert main(["ledger", "create", "l.ledger", "--epsilon", "1", "--unit", "patient"]) == 0
    return tmp_path


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that is wrong; return its exit code and what it says."""
    capsys.readouterr()
    code = main(words)
    return f"{code} {capsys.readouterr().err}".replace(f"{Path.cwd()}/", "")


@pytest.mark.verify
def test_wrong_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"$ dphist {line}\n{said(shlex.split(line), capsys)}" for line in WRONG]
    check_golden(GOLDEN / "wrong_options.txt", "\n".join(lines))


def test_wrong_configurations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for text in CONFIGURED:
        Path("c.toml").write_text(f"[one]\n{text}")
        lines.append(f"{text}{said(['run', 'c.toml'], capsys)}")
    check_golden(GOLDEN / "wrong_configurations.txt", "\n".join(lines))


PLANS = [
    "--epsilon 0.5",
    "--epsilon 0.5 --delta 1e-7 --times 2 --rho 0.01 --delta 1e-8",
    "--rho 0.01 --epsilon 2 --by ana",
]


def test_plans_of_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [
        "ledger",
        "create",
        "b.ledger",
        "--epsilon",
        "2",
        "--delta",
        "1e-6",
        "--unit",
        "patient",
    ]
    assert main(made) == 0
    capsys.readouterr()
    lines = []
    for plan in PLANS:
        for json in ("", " --json"):
            command = f"ledger plan b.ledger {plan}{json}"
            code = main(command.split())
            captured = capsys.readouterr()
            lines.append(f"$ dphist {command}\n{code} {captured.out}{captured.err}")
    check_golden(GOLDEN / "plans_of_a_ledger.txt", "\n".join(lines))


PAID = [
    "anonymize /d/t.csv --epsilon 1 --ledger l --by a --key k",
    "anonymize /d/t.csv --epsilon 1 --label drug --count n --sensitivity 3 --delimiter tab",
    "anonymize /d/t.csv --epsilon 1 --label l --user u --max-records 2 --unit person/people",
    "ranges /d/t.csv --epsilon 1 --column n --edges -5,0,9 --title T --output o.json",
    "ranges /d/t.csv --rho 1 --column a --column b --start 0 --start 1 --stop 9 --stop 8 "
    "--width 1 --width 1 --user u --max-records 2 --mechanism tree",
    "ranges /d/t.csv --rho 1 --column a --edges 0,1 --count n --max-records 2 --workload prefix "
    "--expected-total 9",
    "labels /d/t.csv --epsilon 1 --label l --delta 1e-6 --account a --account b --note n",
    "labels /d/t.csv --epsilon 1 --label l --user u --max-labels 3 --max-count 2 --count n "
    "--noise laplace --null-users drop --null-labels drop --users-by-labels 9 --threads 2 --unit p",
    "labels /d/t.csv --epsilon 1 --label l --known-labels k.txt --correlated --sums-of 3",
    "labels /d/t.csv --epsilon 1 --delta 1e-6 --label l --user u --max-labels 9 --only-labels",
    "top /d/t.csv --epsilon 1 --delta 1e-6 --label l",
    "top /d/t.csv --epsilon 1 --delta 1e-6 --label l -k 3 --candidates 20 --memory 1GB",
]


def test_what_a_key_stands_for() -> None:
    """A key of a ledger is known again by this text, in ledgers of earlier versions too."""
    lines = [
        f"$ dphist {line}\n{describe_data(parse_command_line(shlex.split(line)))}" for line in PAID
    ]
    check_golden(GOLDEN / "what_a_key_stands_for.txt", "\n".join(lines))
