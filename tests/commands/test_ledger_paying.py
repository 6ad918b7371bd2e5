"""Releasing commands that pay from a ledger, as a user types them."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.data.profile import Profile
from tests.support.command_line import run
from tests.support.commands.ledgers import UNIT, WHO, actions, anonymize, made, no_defaults, written

__all__ = ["no_defaults"]  # a fixture of every test here

PATIENCE = 600


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.csv")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return made(tmp_path / "clinic.ledger")


def paid(command: list[object], tmp_path: Path) -> dh.Release:
    """Run a command with an output of its own; return the release."""
    saved = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
    again = ("--again",) if "--ledger" in command else ()
    assert run(*command, *again, "--quiet", "--output", saved) == 0
    return dh.Release.load(saved)


@pytest.mark.verify
def test_every_command_charges_the_account_and_names_the_entry(file, tmp_path) -> None:
    ledger = made(tmp_path / "clinic.ledger", "--epsilon", 3, "--delta", "1e-5")
    paying = ("--ledger", ledger, "--by", "ana")
    cost = ("--epsilon", "0.2", "--delta", "1e-7")
    commands = {
        "anonymize": ("--label", "label", "--max-records", 2, "--epsilon", "0.1"),
        "ranges": ("--column", "age", "--edges", "0,9", "--max-records", 1, "--epsilon", "0.1"),
        "labels": ("--label", "label", "--max-labels", 1, *cost),
        "top": ("--label", "label", "--max-labels", 1, *cost),
    }  # fmt: skip
    for number, (name, options) in enumerate(commands.items()):
        release = paid([name, file, *WHO, *options, *paying, "--key", name], tmp_path)
        stated = release.provenance
        assert stated["entry"] == str(3 + 2 * number)
        assert stated["account"] == "main"
        assert stated["ledger"].startswith("clinic (")
        assert release.guarantee.unit.who == "patient"
    book = dh.Ledger.open(ledger)
    assert book.balance().totals.entries == 4
    assert book.verify() == 10


@pytest.mark.verify
def test_text_json_and_page_say_which_entry_paid(file, ledger, tmp_path, capsys) -> None:
    page, saved = tmp_path / "r.html", tmp_path / "r.json"
    assert run(*anonymize(file, ledger, "k"), "--output", saved, "--report", page) == 0
    said = capsys.readouterr().out
    assert "Charged to 'main' as entry 3 of the ledger 'clinic'." in said
    fits = "1 more release like this one fits; the largest of this kind that fits has epsilon=0.6"
    assert f"From now on, {fits}." in said
    assert "Left in 'main': epsilon=0.6, of epsilon=1." in said
    assert "Entry 3 of the ledger clinic (" in page.read_text()
    assert run("show", saved) == 0
    assert "Entry 3 of the ledger clinic (" in " ".join(capsys.readouterr().out.split())
    assert run("show", saved, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["stated"]["account"], shown["stated"]["entry"]) == ("main", "3")
    again = ("--json", "--output", tmp_path / "again.json")
    assert run(*anonymize(file, ledger, "k"), *again) == 6
    told = json.loads(capsys.readouterr().out)
    assert (told["account"], told["entry"], told["charged"]) == ("main", "3", False)


def test_a_rerun_returns_the_first_release_at_no_cost(file, ledger, tmp_path, capsys) -> None:
    first = paid(anonymize(file, ledger, "k"), tmp_path)
    assert paid(anonymize(file, ledger, "k"), tmp_path) == first
    capsys.readouterr()
    said = f"this is that release of {first.presentation.date}. No data were read, and nothing was"
    file.unlink()  # the path must be there, and is not read
    file.write_text("")
    assert run(*anonymize(file, ledger, "k")) == 6
    assert f"{said} charged; --again says that this is meant." in capsys.readouterr().out
    assert run(*anonymize(file, ledger, "k"), "--again") == 0
    assert f"{said} charged." in capsys.readouterr().out
    assert run(*anonymize(file, ledger, "k"), "--quiet", "--table", tmp_path / "t.csv") == 6
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{said} charged; --again" in told.err
    assert run(*anonymize(tmp_path / "none.csv", ledger, "k")) == 2  # no such file
    written(file)
    assert actions(ledger) == ["opened", "account", "charged", "finished"]
    other = paid(anonymize(file, ledger, "l"), tmp_path)
    assert other.provenance["entry"] == "5"


def test_outputs_of_a_rerun_follow_the_usual_rules(file, ledger, tmp_path, capsys) -> None:
    table = tmp_path / "t.csv"
    command = [*anonymize(file, ledger, "k"), "--quiet", "--table", table]
    assert run(*command) == 0
    before = table.read_text()
    assert run(*command) == 2
    assert "exists" in capsys.readouterr().err
    table.write_text("of somebody else")
    assert run(*command, "--overwrite") == 6
    assert table.read_text() == before


def test_a_refusal_has_its_own_exit_code_and_costs_nothing(file, ledger, tmp_path, capsys) -> None:
    for key in ("a", "b"):
        paid(anonymize(file, ledger, key), tmp_path)
    capsys.readouterr()
    before = ledger.read_bytes()
    saved = tmp_path / "r.json"
    assert run(*anonymize(file, ledger, "c"), "--output", saved) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "dphist: no more releases like this one fit in the account 'main': the largest epsilon "
        "that fits is 0.2. It costs 0.4-differential privacy (pure), and epsilon=0.2 is left of "
        "epsilon=1. Nothing was charged\n"
    )
    assert not saved.exists()
    assert ledger.read_bytes() == before


@pytest.mark.verify
def test_a_refusal_is_one_line_on_standard_error(file, tmp_path) -> None:
    """Records of the log are not printed beside the error."""
    ledger = made(tmp_path / "small.ledger", "--epsilon", "0.1")
    command = [sys.executable, "-m", "dphist", *map(str, anonymize(file, ledger, "k"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)


def test_what_fits_by_the_message_fits(file, ledger, tmp_path) -> None:
    for key in ("a", "b"):
        paid(anonymize(file, ledger, key), tmp_path)
    command = anonymize(file, ledger, "c")
    command[command.index("0.4")] = "0.2"
    paid(command, tmp_path)
    assert dh.Ledger.open(ledger).remaining.epsilon == 0


def test_a_cap_holds_below_the_account(file, ledger, capsys) -> None:
    assert run("ledger", "allow", ledger, "ana", "--epsilon", "0.3") == 0
    assert run(*anonymize(file, ledger, "k")) == 3
    assert "in the cap of 'ana': the largest epsilon that fits is 0.3" in capsys.readouterr().err
    assert run("ledger", "allow", ledger, "ana", "--remove") == 0
    assert run(*anonymize(file, ledger, "k"), "--quiet", "--table", ledger.parent / "t.csv") == 0


@pytest.mark.verify
def test_who_pays_and_a_key_are_needed(file, ledger, monkeypatch, capsys) -> None:
    base = ["anonymize", file, "--label", "label", *WHO, "--max-records", 2, "--epsilon", "0.4"]
    assert run(*base, "--ledger", ledger) == 2
    assert "--by and --key must be given" in capsys.readouterr().err
    assert run(*base, "--ledger", ledger, "--by", "ana") == 2
    said = "--key must be given with a ledger: a name for the release, such as --key ages-2026-11"
    assert said in capsys.readouterr().err
    assert run(*base, "--key", "k") == 2
    assert "--key needs --ledger" in capsys.readouterr().err
    monkeypatch.setenv("DPHIST_LEDGER", str(ledger))
    assert run(*base) == 2
    assert "DPHIST_LEDGER names one" in capsys.readouterr().err
    assert run(*base, "--ledger", "", "--key", "k") == 2
    monkeypatch.setenv("DPHIST_BY", "ben")
    assert run(*base, "--key", "k") == 0
    charged = list(dh.Ledger.open(ledger).entries())[2]
    assert charged.content["by"] == "ben"


@pytest.mark.parametrize(("option", "text"), [("--by", ""), ("--key", " "), ("--note", "a\nb")])
def test_words_are_lines_of_text(option, text, file, ledger, capsys) -> None:
    words = [*anonymize(file, ledger, "k")]
    if option in words:
        words[words.index(option) + 1] = text
    else:
        words += [option, text]
    assert run(*words) == 2
    assert f"{option} must" in capsys.readouterr().err
    assert actions(ledger) == ["opened", "account"]


def test_a_missing_ledger_is_a_usage_error(file, tmp_path, capsys) -> None:
    assert run(*anonymize(file, tmp_path / "none.ledger", "k")) == 2
    assert "'dphist ledger create' makes one" in capsys.readouterr().err
    assert not (tmp_path / "none.ledger").exists()


def test_a_file_that_is_no_ledger_is_refused(file, tmp_path, capsys) -> None:
    assert run(*anonymize(file, file, "k")) == 1
    assert "not a ledger" in capsys.readouterr().err


def test_a_unit_that_differs_is_refused_before_the_file_is_opened(ledger, tmp_path, capsys) -> None:
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)  # would hang if anybody opened it
    command = [each for each in anonymize(pipe, ledger, "k") if each not in UNIT]
    assert run(*command) == 1
    assert "the account 'main' protects one patient, and the release protects one user" in (
        capsys.readouterr().err
    )
    records = [
        "anonymize",
        pipe,
        "--each-row-is-one-person",
        "--label",
        "label",
        "--epsilon",
        "0.1",
    ]
    assert run(*records, "--ledger", ledger, "--by", "ana", "--key", "k") == 1
    assert actions(ledger) == ["opened", "account"]


def test_a_key_is_bound_to_its_data(file, ledger, tmp_path, capsys) -> None:
    """A command that was copied with its key does not return the release of other data."""
    paid(anonymize(file, ledger, "k"), tmp_path)
    other = Path(shutil.copy(file, tmp_path / "december.csv"))
    assert run(*anonymize(other, ledger, "k")) == 1
    assert "was used for another release, or for other data (entry 3)" in capsys.readouterr().err
    assert actions(ledger) == ["opened", "account", "charged", "finished"]
    here = Path.cwd()
    os.chdir(tmp_path)
    try:  # the same file, named otherwise
        paid(anonymize(Path("rows.csv"), ledger, "k"), tmp_path)
    finally:
        os.chdir(here)


def test_a_failure_after_the_charge_says_that_it_stays(ledger, tmp_path, capsys) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("who,other\nu1,SENTINEL\n")
    assert run(*anonymize(file, ledger, "k")) == 2
    said = capsys.readouterr().err
    assert "'label'" in said
    assert "the key 'k' stays charged" in said
    assert "SENTINEL" not in said
    assert run(*anonymize(file, ledger, "k")) == 7
    assert "choose another key, which costs again" in capsys.readouterr().err
    assert actions(ledger) == ["opened", "account", "charged"]


def test_a_release_that_cannot_be_written_is_kept(
    file, ledger, tmp_path, monkeypatch, capsys
) -> None:
    saved = tmp_path / "r.json"
    command = [*anonymize(file, ledger, "k"), "--output", saved]
    with monkeypatch.context() as patched:

        def full(*_: object) -> None:
            raise dh.OutputFileError(f"no space left to write {saved}; nothing was written")

        patched.setattr("dphist.files.StagedOutputs.commit", full)
        assert run(*command) == 1
    said = capsys.readouterr().err
    assert (
        "nothing was written; the ledger keeps the release: the same command with the same" in said
    )
    assert not saved.exists()
    assert run(*command) == 6
    assert actions(ledger) == ["opened", "account", "charged", "finished"]
    assert dh.Release.load(saved) == dh.Ledger.open(ledger).stored("k")


def test_control_c_between_charge_and_release(file, ledger, monkeypatch, capsys) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Profile, "from_table", stopped)
    assert run(*anonymize(file, ledger, "k")) == 130
    assert "the key 'k' stays charged" in capsys.readouterr().err
    assert actions(ledger) == ["opened", "account", "charged"]
    assert run("show", file) == 1  # the note is gone with the run
    assert "stays charged" not in capsys.readouterr().err


# The command line, whose data take as long to open as anybody cares to wait.
SLOW = """
import sys, time
from dphist.data.profile import Profile
from dphist.__main__ import run

def slow(*_, **__):
    print("opening", flush=True)
    while True:
        time.sleep(0.01)

Profile.from_table = slow
run()
"""


@pytest.mark.verify
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_stopped_while_it_reads(number: int, file, ledger) -> None:
    """The charge is durable when the data are opened, and stays."""
    command = [sys.executable, "-c", SLOW, *map(str, anonymize(file, ledger, "k"))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "opening\n"
        assert actions(ledger) == ["opened", "account", "charged"]
        child.send_signal(number)
        said, code = child.communicate(timeout=PATIENCE)[1], child.returncode
    if number == signal.SIGKILL:
        assert (code, said) == (-number, "")
    else:
        assert code == 128 + number
        assert said == (
            "dphist: interrupted; nothing was written; the key 'k' stays charged and does not "
            "draw again; a further attempt needs another key, which is charged again\n"
        )
    assert actions(ledger) == ["opened", "account", "charged"]
    assert dh.Ledger.open(ledger).verify() == 3
    assert run(*anonymize(file, ledger, "k")) == 7  # it never draws again


def test_neighbours_are_told_apart_by_nothing_that_is_said(ledger, tmp_path, capsys) -> None:
    """One user more or less: the same exit codes and words, charged, refused and repeated."""
    said = []
    for users in (50, 51):
        folder = tmp_path / str(users)
        folder.mkdir()
        file, book = written(folder / "rows.csv", users), made(folder / "clinic.ledger")
        capsys.readouterr()
        codes = [
            run(*anonymize(file, book, key), "--output", folder / f"{at}.json")
            for at, key in enumerate(("a", "b", "c", "a"))
        ]
        captured = capsys.readouterr()
        said.append((codes, captured.out.replace(str(folder), ""), captured.err))
    assert said[0] == said[1]
    assert said[0][0] == [0, 0, 3, 6]


@pytest.mark.verify
def test_a_dry_run_says_what_it_would_cost(ledger, tmp_path, capsys) -> None:
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    command = anonymize(pipe, ledger, "k")
    assert run(*command, "--dry-run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "the account 'main' would be charged 0.4-differential privacy (pure), for one patient"
        in said
    )
    assert "It fits: the account 'main' would have epsilon=0.6 left of epsilon=1." in said
    assert run(*command[:-4], "--dry-run", "--json") == 0  # without --by and --key
    shown = json.loads(capsys.readouterr().out)["ledger"]
    assert shown["fits"] is True
    assert shown["charges"][0]["left_after"] == {"epsilon": "0.6"}
    assert run("ledger", "allow", ledger, "ana", "--epsilon", "0.1") == 0
    capsys.readouterr()
    assert run(*command, "--dry-run") == 0
    assert (
        "It would be refused: the cap of 'ana' in the account 'main' has epsilon=0.1 left of "
        "epsilon=0.1; the largest epsilon that fits is 0.1."
    ) in " ".join(capsys.readouterr().out.split())
    assert actions(ledger) == ["opened", "account", "allowed"]


@pytest.mark.verify
def test_a_dry_run_knows_gaussian_noise_and_caps_of_a_smaller_delta(tmp_path, capsys) -> None:
    """What ends the adding up of epsilons is said; what a release costs alone is no cap's word."""
    file = written(tmp_path / "rows.csv", 50)
    book = made(tmp_path / "b.ledger", "--epsilon", 1, "--delta", "1e-6")
    labels: tuple[Any, ...] = ("labels", file, "--label", "label", *WHO)
    labels += ("--max-labels", 50, "--epsilon", 1, "--delta", "1e-6", "--noise", "gaussian")
    labels += ("--ledger", book, "--by", "ana", "--key", "k", "--dry-run")
    capsys.readouterr()
    assert run(*labels) == 0
    said = capsys.readouterr().out
    assert "It fits: the account 'main'" in said
    assert "It states no epsilon, as with Gaussian noise." in said
    assert run(*labels, "--json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["charges"][0]["ends_epsilons"] is True
    assert run("ledger", "allow", book, "ana", "--epsilon", 1, "--delta", "9e-7") == 0
    capsys.readouterr()
    assert run(*labels) == 0
    assert "It would be refused: the cap of 'ana'" in capsys.readouterr().out
    assert run(*labels[:-1], "--output", tmp_path / "r.json") == 3
    assert "which states no epsilon, as with Gaussian noise" in capsys.readouterr().err


@pytest.mark.verify
def test_a_reservation_is_used_or_canceled(file, ledger, tmp_path, capsys) -> None:
    command = anonymize(file, ledger, "k")
    assert run(*command, "--reserve") == 0
    assert "as entry 3" in capsys.readouterr().out
    assert dh.Ledger.open(ledger).remaining.epsilon == dh.Ledger.open(ledger).spent.epsilon * 3 / 2
    assert run(*command, "--dry-run") == 0
    assert "is reserved (entry 3)" in capsys.readouterr().out
    paid(command, tmp_path)
    assert run("ledger", "cancel", ledger, "k") == 1
    assert "only a reservation can be canceled" in capsys.readouterr().err
    assert run(*anonymize(file, ledger, "l"), "--reserve") == 0
    assert run("ledger", "cancel", ledger, "l") == 0
    assert run("ledger", "cancel", ledger, "nothing") == 1
    assert actions(ledger)[2:] == ["reserved", "charged", "finished", "reserved", "canceled"]


def test_several_accounts_are_charged_all_or_none(file, ledger, tmp_path, capsys) -> None:
    assert run("ledger", "open", ledger, "--account", "small", "--epsilon", "0.5", *UNIT) == 0
    command = anonymize(file, ledger, "k")
    assert run(*command) == 2
    assert "--account must be given" in capsys.readouterr().err
    both = ("--account", "main", "--account", "small")
    assert paid([*command, *both], tmp_path).provenance["account"] == "main, small"
    assert run(*anonymize(file, ledger, "l"), *both) == 3
    assert "in the account 'small': the largest epsilon that fits is 0.1" in capsys.readouterr().err
    book = dh.Ledger.open(ledger)
    assert [book.balance(name).totals.entries for name in ("main", "small")] == [1, 1]


@pytest.mark.verify
def test_a_stored_release_is_shown_without_the_data(file, ledger, tmp_path, capsys) -> None:
    first = paid(anonymize(file, ledger, "k"), tmp_path)
    file.unlink()
    saved = tmp_path / "again.html"
    assert run("show", "--ledger", ledger, "--key", "k", "--json") == 0
    assert dh.Release.from_json(capsys.readouterr().out) == first
    assert run("show", "--ledger", ledger, "--key", "k", "--report", saved) == 0
    assert saved.exists()
    assert run("show", "--ledger", ledger, "--key", "other") == 1
    assert run("show", "--ledger", ledger) == 2
    assert run("show", file, "--key", "k") == 2
    assert run("show", "--ledger", ledger, "--key", "k", "--table", ledger, "--overwrite") == 2


def test_the_ledger_is_never_an_output(file, ledger, capsys) -> None:
    assert run(*anonymize(file, ledger, "k"), "--output", ledger, "--overwrite") == 2
    assert "writing there would destroy it" in capsys.readouterr().err
    assert dh.Ledger.open(ledger).verify() == 2


def test_a_unit_needs_users(file, capsys) -> None:
    for command in (
        ["anonymize", file, "--each-row-is-one-person", "--label", "label", "--epsilon", 1],
        [
            "ranges",
            file,
            "--each-row-is-one-person",
            "--column",
            "age",
            "--edges",
            "0,9",
            "--epsilon",
            1,
        ],
        [
            "labels",
            file,
            "--each-row-is-one-person",
            "--label",
            "label",
            "--epsilon",
            1,
            "--delta",
            "1e-6",
        ],
        ["stream", "--state", file, "--epsilon", 1, "--delta", "1e-6", "--horizon", 9],
    ):
        assert run(*command, *UNIT) == 2
        assert "--unit needs --user" in capsys.readouterr().err
    bounded = ["anonymize", file, "--label", "label", "--user", "who", "--max-records", 1]
    assert run(*bounded, "--epsilon", 1, "--unit", "a\tb") == 2
    assert "--unit must be one line" in capsys.readouterr().err


def test_dry_run_and_release_name_the_unit(file, tmp_path, capsys) -> None:
    command = ["labels", file, "--label", "label", *WHO, "--max-labels", 1]
    command += ["--epsilon", 1, "--delta", "1e-6"]
    assert run(*command, "--dry-run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "in all, for one patient Threshold" in said
    assert run(*command, "--null-users", "separate", "--dry-run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "in all, for one patient, or one row without a patient Threshold" in said
    release = paid(command, tmp_path)
    assert release.guarantee.unit == dh.PrivacyUnit("patient")


@pytest.fixture
def others() -> Iterator[Path]:
    """Return a folder of somebody else, for a test that goes on as a user without rights."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    if os.getuid() == 0:
        os.seteuid(0)
    shutil.rmtree(folder)


@pytest.mark.verify
def test_a_ledger_that_cannot_be_written_charges_nothing(others: Path, capsys) -> None:
    file, ledger = written(others / "rows.csv"), made(others / "clinic.ledger")
    for command in (["ledger", "show", ledger], anonymize(file, made(others / "b.ledger"), "k")):
        assert run(*command) == 0  # whatever is imported late was, by a user who may read it
    for path in (file, ledger):
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    capsys.readouterr()
    if os.getuid() == 0:
        os.seteuid(65534)
    assert run(*anonymize(file, ledger, "k")) == 1
    assert (
        "cannot be written, so nothing can be charged; make it writable" in capsys.readouterr().err
    )
    assert run("ledger", "show", ledger) == 0
    assert "Spent           nothing" in capsys.readouterr().out


def test_help_does_not_import_the_ledger() -> None:
    code = (
        "import sys; before = set(sys.modules); from dphist.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "new = set(sys.modules) - before  # a measurement of coverage has sqlite3\n"
        "print([m for m in new if m in ('numpy', 'sqlite3', 'dphist.ledger', 'logging')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "keep one budget" in done.stdout


@pytest.mark.verify
def test_a_release_without_a_ledger_does_not_import_it(file) -> None:
    code = (
        "import sys; from dphist.cli import main\n"
        f"main(['anonymize', {str(file)!r}, '--label', 'label', '--epsilon', '1', '--quiet',"
        f" '--table', {str(file) + '.out.csv'!r}])\n"
        "print('dphist.ledger' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_number_of_records_is_found_and_both_looks_are_paid_first(tmp_path, capsys) -> None:
    """Both charges add up to what was given; neither is made twice, or where both do not fit."""
    # Of a second time the counts would fit by themselves, and not together with their look.
    rows, ledger = tmp_path / "rows.csv", made(tmp_path / "own.ledger", "--epsilon", "1.97")
    rows.write_text("who,age\n" + "".join(f"{n % 37},{n % 9}\n" for n in range(400)))
    bins = ("--column", "age", "--start", 0, "--stop", 9, "--width", 1)
    asked = ["ranges", rows, *bins, *WHO, "--epsilon", 1, "--ledger", ledger, "--by", "ana"]
    assert run(*asked, "--key", "a", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "Both releases fit together" in said
    assert "0.05" in said
    assert "0.95" in said
    release = paid([*asked, "--key", "a"], tmp_path)
    assert release.guarantee.epsilon == 1
    assert release.users is not None
    assert (release.users.provenance["entry"], release.provenance["entry"]) == ("3", "5")
    assert release.provenance["max_records"] == str(release.mechanism.sensitivity)
    assert dh.Ledger.open(ledger).balance().totals.epsilon == 1
    assert paid([*asked, "--key", "a"], tmp_path) == release
    assert run(*asked, "--key", "b", "--quiet", "--output", tmp_path / "b.json") == 3
    assert "Nothing was charged" in capsys.readouterr().err
    assert dh.Ledger.open(ledger).balance().totals.epsilon == 1
    rows.write_text("who,age\n,1\n")  # the first look fails after its charge
    fixed = [*asked[:-6], "--epsilon", "0.2", "--users-by-records", 9, "--max-records", 2]
    fixed += ["--ledger", ledger, "--by", "ana", "--key", "c", "--quiet"]
    assert run(*fixed, "--output", tmp_path / "c.json") == 1
    assert dh.Ledger.open(ledger).balance().totals.epsilon == dh.PureDP("1.01").epsilon


def test_a_look_is_not_paid_if_the_counts_might_not_be(tmp_path, capsys) -> None:
    """Pure noise of a small bound costs more rho than that of the largest, and which is not known.

    Neither is it paid if its key was used without a look.
    """
    rows = tmp_path / "rows.csv"
    rows.write_text("who,age\n" + "".join(f"{n},{n % 9}\n" for n in range(400)))
    bins = ("--column", "age", "--start", 0, "--stop", 9, "--width", 1)
    asked = ["ranges", rows, *bins, *WHO, "--epsilon", 1, "--by", "ana", "--quiet"]
    out = ("--output", tmp_path / "out.json", "--overwrite")
    ledger = tmp_path / "rho.ledger"
    assert run("ledger", "create", ledger, "--rho", "0.35", "--unit", "one patient") == 0
    assert run(*asked, "--ledger", ledger, "--key", "a", *out) == 3
    assert len(list(dh.Ledger.open(ledger).entries())) == 2
    ledger = made(tmp_path / "own.ledger", "--epsilon", "9")
    assert run(*asked, "--ledger", ledger, "--key", "a", "--max-records", 2, *out) == 0
    before = len(list(dh.Ledger.open(ledger).entries()))
    capsys.readouterr()
    assert run(*asked, "--ledger", ledger, "--key", "a", *out) == 1
    assert "choose another key" in capsys.readouterr().err
    assert run(*asked, "--ledger", ledger, "--key", "a", "--dry-run") == 1
    assert len(list(dh.Ledger.open(ledger).entries())) == before
