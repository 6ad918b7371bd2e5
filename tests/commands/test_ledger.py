"""dphist ledger: its actions as a user types them, and what is refused."""

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import dphist as dh
from tests.support.command_line import run
from tests.support.commands.ledgers import UNIT, actions, anonymize, made, no_defaults, written

__all__ = ["no_defaults"]  # a fixture of every test here

EVIL = "<b>\u202e'; DROP</b>"


@pytest.fixture
def used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A ledger with two releases, a reservation, a cap and words that mean harm."""
    ledger = made(tmp_path / "clinic.ledger", "--epsilon", 2, "--dataset-name", "<i>wards</i>")
    file = written(tmp_path / "rows.csv")
    for number, note in enumerate(("for the board", "<script>alert(1)</script>")):
        done = anonymize(file, ledger, f"key {number}", "--note", note, "--quiet")
        assert run(*done, "--table", tmp_path / f"{number}.csv") == 0
    assert run(*anonymize(file, ledger, "later"), "--reserve") == 0
    assert run("ledger", "allow", ledger, "ben", "--epsilon", "1/2") == 0
    capsys.readouterr()
    return ledger


@pytest.mark.parametrize(
    ("options", "guarantee"),
    [
        (("--epsilon", 2), dh.PureDP(2, unit="patient")),
        (("--epsilon", 2, "--delta", "1e-6"), dh.ApproxDP(2, "1e-6", unit="patient")),
        (("--rho", "0.1"), dh.ZCDP("0.1", unit="patient")),
        (("--rho", "1/3", "--delta", "1e-9"), dh.ApproxZCDP("1/3", "1e-9", unit="patient")),
    ],
)
def test_create_opens_an_account_of_each_kind(options, guarantee, tmp_path, capsys) -> None:
    path = made(tmp_path / "a.ledger", *options, "--name", "Wards", "--account", "all years")
    assert "Made the ledger 'Wards'" in capsys.readouterr().out
    (account,) = dh.Ledger.open(path).accounts
    assert (account.name, account.unit) == ("all years", dh.PrivacyUnit("patient"))
    assert str(account.budget.guarantee) == str(guarantee)


def test_a_monthly_budget_is_said_to_be_one_and_to_add_up(tmp_path, monkeypatch, capsys) -> None:
    """On creating, opening, allowing and showing, in a refusal, a dry run and the log."""
    monkeypatch.setattr("dphist.ledger.entries.now", lambda _: "2026-11-24T09:12:55.120+00:00")
    path = made(tmp_path / "a.ledger", "--epsilon", "1/2", "--renew", "monthly")
    assert run("ledger", "open", path, "--account", "all", "--epsilon", 3, *UNIT) == 0
    assert run("ledger", "allow", path, "ana", "--epsilon", "0.45", "--account", "main") == 0
    said = capsys.readouterr().out
    assert "Account 'main': epsilon=0.5 in each calendar month (UTC), for one patient" in said
    assert "Account 'all': epsilon=3, for one patient" in said
    assert "'ana' may spend epsilon=0.45 in each calendar month (UTC) of 'main'" in said
    file = written(tmp_path / "rows.csv")
    account = ("--account", "main", "--account", "all")
    pay = [*anonymize(file, path, "k"), *account, "--output", tmp_path / "k.json"]
    assert run(*pay, "--dry-run") == 0
    assert "After it, no more releases like this one fit in 2026-11." in capsys.readouterr().out
    assert run(*pay, "--quiet") == 0
    more = [*anonymize(file, path, "l"), *account, "--output", tmp_path / "l.json"]
    assert run(*more) == 3
    assert (
        " in 2026-11. The budget is renewed on 2026-12-01 (UTC). Nothing was"
        in capsys.readouterr().err
    )
    assert run("ledger", "show", path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "ε = 0.5 in each calendar month (UTC), opened on" in shown
    assert "All months ε = 0.4, by 1 release, in 1 month Adds up to ε = 6 after 12 months" in shown
    assert shown.count("Adds up to") == 1
    assert run("ledger", "log", path, "--csv") == 0
    assert "epsilon=0.5, renewed monthly" in capsys.readouterr().out


def test_create_as_json(tmp_path, capsys) -> None:
    path = tmp_path / "a.ledger"
    part = ("--delta", "1e-6", "--delta-of-entries", "2e-7")
    assert run("ledger", "create", path, "--epsilon", "0.1", *part, *UNIT, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["id"] == dh.Ledger.open(path).id
    assert shown["account"]["budget"]["delta_of_entries"] == "0.0000002"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--epsilon --rho is required"),
        (("--epsilon", "0x1p-3"), "--epsilon must be a finite number"),
        (("--epsilon", "nan"), "--epsilon must be a finite number"),
        (("--epsilon", "1e-500"), "--epsilon must be a finite number"),
        (("--epsilon", "1/0"), "--epsilon must be a finite number"),
        (("--epsilon", "1e400"), "--epsilon must be at most"),
        (("--epsilon", f"1/{10**160}"), "--epsilon must have fewer than 150 digits"),
        (("--epsilon", "0"), "--epsilon must be greater than 0"),
        (("--epsilon", "1", "--rho", "1"), "not allowed with"),
        (("--epsilon", "1", "--delta", "1"), "--delta must be at least 0 and below 1"),
        (
            ("--epsilon", "1", "--delta", "1e-6", "--delta-of-entries", "1e-6"),
            "below --delta",
        ),
        (("--rho", "1", "--delta", "1e-6", "--delta-of-entries", "1e-7"), "--delta-of-entries is"),
        (("--epsilon", "1", "--unit", ""), "--unit must be one line"),
        (("--epsilon", "1", "--account", "a\nb"), "--account must be one line"),
    ],
)
def test_a_bad_budget_makes_no_file(options, said, tmp_path, capsys) -> None:
    path = tmp_path / "a.ledger"
    unit = () if "--unit" in options else UNIT
    assert run("ledger", "create", path, *unit, *options) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_create_replaces_nothing(tmp_path, capsys) -> None:
    path = made(tmp_path / "a.ledger")
    before = path.read_bytes()
    assert run("ledger", "create", path, "--epsilon", 9, *UNIT) == 1
    assert "exists" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert run("ledger", "create", tmp_path / "no" / "a.ledger", "--epsilon", 9, *UNIT) == 1


def test_the_ledger_is_named_once(tmp_path, monkeypatch, capsys) -> None:
    path = made(tmp_path / "a.ledger")
    assert run("ledger", "show") == 2
    assert "name the ledger" in capsys.readouterr().err
    assert run("ledger", "show", path, "--ledger", path) == 2
    assert run("ledger", "show", "--ledger", path) == 0
    monkeypatch.setenv("DPHIST_LEDGER", str(path))
    assert run("ledger", "show") == 0
    assert run("ledger", "allow", "ana", "--epsilon", "0.5") == 0
    assert run("ledger", "show", tmp_path / "none.ledger") == 2
    assert "there is no ledger" in capsys.readouterr().err
    assert run("ledger") == 2
    assert run("ledger", "spend") == 2


def test_show_says_what_was_spent_by_whom_and_what_is_left(used, capsys) -> None:
    assert run("ledger", "show", used) == 0
    said = capsys.readouterr().out
    assert "Budget          ε = 2 in all, opened on " in said
    assert "Spent           ε = 1.2, by 3 releases" in said
    assert "Left            ε = 0.8" in said
    assert "Largest ε       0.8, of one more pure release" in said
    rows = [" ".join(line.split()) for line in said.splitlines()[-2:]]
    assert rows == ["ana 3 ε = 1.2 none –", "ben 0 nothing ε = 0.5 0.5"]
    assert all(
        len(line) <= 78 for line in said.splitlines() if "/" not in line
    )  # a path is not cut
    assert run("ledger", "show", used, "--json") == 0
    (account,) = json.loads(capsys.readouterr().out)["accounts"]
    assert (account["spent"]["epsilon"], account["largest_epsilon"]) == ("1.2", "0.8")
    assert account["people"]["ben"]["cap"]["epsilon"] == "0.5"


def test_show_of_a_ledger_without_releases(tmp_path, capsys) -> None:
    path, page = made(tmp_path / "a.ledger", "--rho", "0.5"), tmp_path / "page.html"
    assert run("ledger", "show", path, "--report", page) == 0
    assert "Spent           nothing" in capsys.readouterr().out
    assert "Nothing was charged." in page.read_text()


@pytest.mark.verify
def test_the_page_is_an_output_like_others(used, tmp_path, capsys) -> None:
    page = tmp_path / "page.html"
    assert run("ledger", "show", used, "--report", page) == 0
    assert f"wrote {page} (report)" in capsys.readouterr().out
    assert run("ledger", "show", used, "--report", page) == 2
    assert run("ledger", "show", used, "--report", page, "--overwrite", "--json") == 0
    assert json.loads(capsys.readouterr().out)["wrote"] == {"report": str(page)}
    assert run("ledger", "show", used, "--report", used, "--overwrite") == 2
    assert "writing there would destroy it" in capsys.readouterr().err
    assert run("ledger", "show", used, "--report", tmp_path / "no" / "p.html") == 2


def test_plan_adds_releases_up_in_their_order(used, capsys) -> None:
    plan = ("ledger", "plan", used, "--epsilon", "0.3", "--times", 2)
    assert run(*plan) == 0
    assert capsys.readouterr().out.count("yes") == 2
    assert run(*plan, "--epsilon", "1/2", "--json") == 3
    captured = capsys.readouterr()
    shown = json.loads(captured.out)
    assert [each["fits"] for each in shown["releases"]] == [True, True, False]
    assert [each["left_after"]["epsilon"] for each in shown["releases"]] == ["0.5", "0.2", "0"]
    assert shown["affordable"] is False
    assert "1 of 3 releases would be refused, from number 3 on" in captured.err
    assert actions(used)[-1] == "allowed"  # nothing was charged


@pytest.mark.verify
def test_plan_knows_caps_and_other_currencies(used, tmp_path, capsys) -> None:
    assert run("ledger", "plan", used, "--epsilon", "0.6") == 0
    assert run("ledger", "plan", used, "--epsilon", "0.6", "--by", "ben") == 3
    assert run("ledger", "plan", used, "--rho", "0.1") == 3  # a pure account admits no other
    both = made(tmp_path / "b.ledger", "--epsilon", 2, "--delta", "1e-6")
    capsys.readouterr()
    asked = ("--rho", "0.05", "--delta", "1e-8", "--times", 2, "--epsilon", "0.05")
    assert run("ledger", "plan", both, *asked, "--json") == 3
    shown = json.loads(capsys.readouterr().out)["releases"]
    assert [each["fits"] for each in shown] == [True, False, False]
    assert "epsilon" not in shown[0]["left_after"]


@pytest.mark.verify
def test_plan_says_what_ends_the_adding_up_of_epsilons(used, tmp_path, capsys) -> None:
    both = made(tmp_path / "b.ledger", "--epsilon", 2, "--delta", "1e-6")
    plan = ("ledger", "plan", both, "--epsilon", "0.1")
    capsys.readouterr()
    assert run(*plan) == 0
    assert "epsilons are not added up" not in capsys.readouterr().out
    assert run(*plan, "--delta", "1e-8") == 0
    assert "One with Gaussian noise, which labels" in " ".join(capsys.readouterr().out.split())
    assert run(*plan, "--rho", "0.001") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Release 2: It states no epsilon, as with Gaussian noise." in said
    assert run(*plan, "--rho", "0.001", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ends_epsilons"] == 1


def test_log_shows_budgets_and_caps(tmp_path, capsys) -> None:
    path = made(tmp_path / "b.ledger", "--epsilon", 2, "--delta", "1e-6")
    assert run("ledger", "allow", path, "ana", "--epsilon", "1/3") == 0
    assert run("ledger", "allow", path, "ana", "--remove") == 0
    capsys.readouterr()
    assert run("ledger", "log", path) == 0
    said, *_, log = capsys.readouterr().out.split("\n\n")
    names, *lines = log.splitlines()
    assert said.startswith("b, 4 entries of a privacy ledger")
    assert "Budget or cap" in names
    assert "ε = 2, δ = 1e-6" in lines[1]
    assert "ε = 1/3, δ = 1e-6" in lines[2]
    assert "none" in lines[3]
    assert run("ledger", "log", path, "--csv") == 0
    assert '"epsilon=1/3, delta=0.000001"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "its cost with --epsilon or --rho"),
        (("--delta", "1e-6"), "--delta must follow --epsilon or --rho"),
        (("--epsilon", "1", "--times", "2", "--times", "2"), "--times must follow"),
        (("--epsilon", "1", "--times", "0"), "--times must be at least 1"),
        (("--epsilon", "1", "--times", "1000000"), "at most 10,000 releases"),
        (("--epsilon", "-1"), "--epsilon must be greater than 0"),
        (("--epsilon", "x"), "--epsilon must be a finite number"),
    ],
)
@pytest.mark.quick(every=7)
def test_a_plan_that_cannot_be_read(options, said, used, capsys) -> None:
    assert run("ledger", "plan", used, *options) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 2, "one of the arguments --epsilon --rho --remove is required"),
        (("--rho", "1"), 2, "is given as"),
        (("--remove", "--epsilon", "1"), 2, "not allowed with"),
        (("--epsilon", "1", "--account", "other"), 1, "there is no account 'other'"),
    ],
)
@pytest.mark.quick(every=4)
def test_a_cap_that_cannot_be(options, code, said, used, capsys) -> None:
    before = actions(used)
    assert run("ledger", "allow", used, "ana", *options) == code
    assert said in capsys.readouterr().err
    assert actions(used) == before


@pytest.mark.verify
def test_log_as_table_json_and_csv(used, capsys) -> None:
    assert run("ledger", "log", used) == 0
    lines = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert len(lines) == 1 + len(actions(used))
    for each in ("charged", "main", "ana", "key 0", "ε = 0.4", "AdaptiveScan", "for the board"):
        assert each in lines[3]
    assert run("ledger", "log", used, "--csv") == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("entry,time,action,key,by,account,")
    assert run("ledger", "log", used, "--json") == 0
    entries = json.loads(capsys.readouterr().out)
    held = list(dh.Ledger.open(used).entries())
    assert [entry["hash"] for entry in entries] == [entry.hash for entry in held]
    assert [entry["previous"] for entry in entries[1:]] == [entry.hash for entry in held[:-1]]


@pytest.mark.verify
def test_log_of_a_key_a_person_or_the_last_entries(used, capsys) -> None:
    def logged(*options: object) -> list[int]:
        capsys.readouterr()
        assert run("ledger", "log", used, "--json", *options) == 0
        return [entry["number"] for entry in json.loads(capsys.readouterr().out)]

    assert logged("--key", "key 1") == [5, 6]
    assert logged("--by", "ben") == [8]
    assert logged("--account", "main") == [2, 3, 5, 7, 8]
    assert logged("--account", "main", "--last", 2) == [7, 8]
    assert logged("--key", "nothing") == []
    assert run("ledger", "log", used, "--key", "nothing") == 0
    assert "There are no such entries." in capsys.readouterr().out
    assert run("ledger", "log", used, "--last", 0) == 2


@pytest.mark.verify
def test_export_writes_what_the_name_says(used, tmp_path, capsys) -> None:
    table, text, all_of_it = (tmp_path / f"e.{kind}" for kind in ("parquet", "csv", "json"))
    for path in (table, text, all_of_it):
        assert run("ledger", "export", used, path) == 0
        assert f"wrote {path} (8 entries)" in capsys.readouterr().out
    assert pq.read_table(table).equals(dh.Ledger.open(used).entries().to_arrow())
    assert len(text.read_text().splitlines()) == 9
    assert [each["number"] for each in json.loads(all_of_it.read_text())] == list(range(1, 9))
    assert run("ledger", "export", used, table) == 2
    assert run("ledger", "export", used, table, "--overwrite") == 0
    for name in (tmp_path / "e.xlsx", tmp_path / "e", used):
        assert run("ledger", "export", used, name, "--overwrite") == 2
        assert "must end in .csv, .json or .parquet" in capsys.readouterr().err
    assert dh.Ledger.open(used).verify() == 8


@pytest.mark.verify
def test_a_closed_account_pays_no_more(used, tmp_path, capsys) -> None:
    assert run("ledger", "close", used) == 2
    assert run("ledger", "close", used, "--account", "other") == 1
    assert run("ledger", "close", used, "--account", "main", "--note", "end of the year") == 0
    capsys.readouterr()
    assert run(*anonymize(tmp_path / "rows.csv", used, "new")) == 1
    assert "the account 'main' is closed" in capsys.readouterr().err
    assert run(*anonymize(tmp_path / "rows.csv", used, "new"), "--dry-run") == 0
    assert "It would be refused: the account 'main' is closed." in capsys.readouterr().out
    assert run("ledger", "show", used) == 0
    assert "(closed)" in capsys.readouterr().out
    again = tmp_path / "again.json"
    assert (
        run(*anonymize(tmp_path / "rows.csv", used, "key 0", "--note", "x"), "--output", again) == 6
    )


@pytest.mark.verify
def test_a_further_account_has_its_own_unit(used, tmp_path, capsys) -> None:
    opening = ("ledger", "open", used, "--account", "nov", "--rho", "0.5", "--unit", "record")
    assert run(*opening, "--json") == 0
    assert json.loads(capsys.readouterr().out)["account"]["unit"]["who"] == "record"
    assert run(*opening) == 1
    assert "exists" in capsys.readouterr().err
    paying = ("--ledger", used, "--by", "ana", "--key", "n", "--account", "nov")
    file, table = tmp_path / "rows.csv", tmp_path / "t.csv"
    assert (
        run(
            "anonymize",
            file,
            "--each-row-is-one-person",
            "--label",
            "label",
            "--epsilon",
            "0.1",
            *paying,
            "--table",
            table,
        )
        == 0
    )
    balance = dh.Ledger.open(used).balance("nov")
    assert 0 < balance.spent.rho < Fraction(1, 100)


def test_verify_counts_the_entries(used, capsys) -> None:
    assert run("ledger", "verify", used) == 0
    assert (
        "Everything is right (signatures were not checked): 8 entries." in capsys.readouterr().out
    )
    assert run("ledger", "verify", used, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["entries"], shown["signed"]) == (8, False)
    assert shown["hash"] == list(dh.Ledger.open(used).entries())[-1].hash


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE dphist_entries SET content = replace(content, '\"0.4\"', '\"0.1\"') "
            "WHERE number = 3",
            "entry 3 was changed",
        ),
        ("DELETE FROM dphist_entries WHERE number = 5", "entry 5 is missing"),
        ("UPDATE dphist_totals SET epsilon = '0'", "the sums of the account 'main'"),
        ("UPDATE dphist_charges SET release_text = 'x' WHERE entry = 3", "entry 3 has a stored"),
    ],
)
@pytest.mark.quick(every=4)
def test_verify_names_what_is_wrong(statement, said, used, capsys) -> None:
    with sqlite3.connect(used) as connection:
        connection.execute(statement)
    connection.close()
    assert run("ledger", "verify", used) == 1
    assert said in capsys.readouterr().err


def test_a_ledger_that_was_copied_is_accepted_only_when_told(used, tmp_path, capsys) -> None:
    copy = tmp_path / "copy.ledger"
    copy.write_bytes(used.read_bytes())
    assert run("ledger", "show", copy) == 1
    assert "`dphist ledger verify --moved`" in capsys.readouterr().err
    assert run("ledger", "verify", copy, "--moved") == 0
    assert run("ledger", "show", copy) == 0


def test_signed_entries_are_checked_with_the_public_key(tmp_path, monkeypatch, capsys) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives import serialization as form

    key = ed25519.Ed25519PrivateKey.generate()
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(
        key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    )
    ledger = made(tmp_path / "a.ledger", "--epsilon", 2, "--signing-key", private)
    command = anonymize(written(tmp_path / "rows.csv"), ledger, "k")
    assert run(*command, "--quiet", "--table", tmp_path / "t.csv", "--signing-key", private) == 0
    monkeypatch.setenv("DPHIST_SIGNING_KEY", str(private))
    assert run("ledger", "allow", ledger, "ana", "--epsilon", "1") == 0
    capsys.readouterr()
    assert run("ledger", "verify", ledger, "--public-key", public) == 0
    assert "signatures included: 5 entries" in capsys.readouterr().out
    monkeypatch.delenv("DPHIST_SIGNING_KEY")
    assert run("ledger", "allow", ledger, "ana", "--remove") == 1
    assert "the entries of this ledger are signed" in capsys.readouterr().err
    assert run("ledger", "verify", ledger, "--public-key", tmp_path / "none.pem") == 1


def test_words_cannot_control_a_terminal(tmp_path, capsys) -> None:
    """Entries hold printable words only; a file that was edited may hold anything."""
    ledger = made(
        tmp_path / "a.ledger", "--epsilon", 2, "--dataset-name", EVIL.replace("\u202e", "")
    )
    with sqlite3.connect(ledger) as connection:
        connection.execute(
            "UPDATE dphist_entries SET content = replace(content, 'DROP', '\\u001b[2J')"
        )
    connection.close()
    capsys.readouterr()
    for options in (("show",), ("log",)):
        run("ledger", *options, ledger)
        captured = capsys.readouterr()
        assert "\x1b" not in captured.out + captured.err
