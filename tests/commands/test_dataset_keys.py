"""--dataset: how files are read, listed values, and rows that are one person each."""

import json
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.cli import main

FACTS = """files = "visits.csv"
user = "patient"
max_labels = 2
max_records = 2
max_rows = 2
[keys]
town = ["A", "B"]
age = "0:100:50"
code = "@codes.txt"
"""
PEOPLE = """files = "visits.csv"
each_row_is_one_person = true
"""
BUDGET = "--epsilon 1 --delta 1e-6"
Run = Callable[..., int]


@pytest.fixture(name="run")
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with a description that stands, with its data, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("held").mkdir()
    rows = "1,A,20,x,2,2026-02-01\n2,B,60,y,1,2026-02-02\n"
    Path("held/visits.csv").write_text("patient,town,age,code,n,day\n" + rows)
    Path("held/codes.txt").write_text("x\ny\n")
    Path("codes.txt").write_text("z\n")

    def call(words: str, *more: str, facts: str = FACTS) -> int:
        Path("held/clinic.toml").write_text(facts)
        return main([*shlex.split(words), "--dataset", "held/clinic.toml", *more])

    return call


def release_of(run: Run, words: str, **given: Any) -> dh.Release:
    assert run(words, "--output", "r.json", "--quiet", "--overwrite", **given) == 0
    return dh.Release.load("r.json")


LISTED = {
    "tables": ("tables --axis town --axis age --tables town+age --epsilon 1", "town=A,B"),
    "groups": ("groups --group town --column age --epsilon 1", "town=A,B"),
}


@pytest.mark.parametrize("command", LISTED)
def test_listed_values_are_typed_by_name(run, command, capsys) -> None:
    words, listed = LISTED[command]
    made = release_of(run, words)
    typed = words.replace("town ", f"{listed} ", 1)
    assert release_of(run, typed).mechanism == made.mechanism
    for other in ("town=A", "town=B,A", "town=A,B,C", "town=discover:0.3", "town=0:2:1"):
        assert run(words.replace("town ", f"{other} ", 1)) == 2
        said = "must be what held/clinic.toml lists of 'town': no more, no less, in that order"
        assert said in capsys.readouterr().err
    assert run(words.replace("town ", "code ", 1).replace("town+", "code+")) == 0
    assert run(words.replace("town ", "n ", 1)) == 2
    assert "must list values of 'n': held/clinic.toml does not" in capsys.readouterr().err


def test_other_stands_beside_listed_values(run) -> None:
    words = "tables --axis town --other town --tables town --epsilon 1"
    assert release_of(run, words).mechanism.keys["town"].labels == ("A", "B", "other")


def test_bins_are_those_of_the_column(run, capsys) -> None:
    made = release_of(run, "ranges --column age --epsilon 1")
    assert made.value.axes[0] == dh.Axis.regular(0, 100, 50, "age")
    for given in ("--edges 0,50,100", "--start 0 --stop 9 --width 1"):
        assert run(f"ranges --column age --epsilon 1 {given}") == 2
        assert "must be left out: held/clinic.toml says what 'age'" in capsys.readouterr().err
    assert run("ranges --column age --column n --edges 0,9 --edges 0,9 --epsilon 1") == 2
    assert "--edges must be left out" in capsys.readouterr().err
    assert run("ranges --column age --tz UTC --epsilon 1") == 2
    assert "--tz must be left out" in capsys.readouterr().err
    assert run("ranges --column town --epsilon 1") == 2
    assert "lists values of 'town', and no bins" in capsys.readouterr().err
    assert run("groups --group town --column age --bins 0:100:50 --epsilon 1") == 0
    capsys.readouterr()
    assert run("groups --group town --column age --bins 0:100:25 --epsilon 1") == 2
    assert "--bins must be what held/clinic.toml lists of 'age'" in capsys.readouterr().err
    assert run("groups --group town --column n --epsilon 1") == 2
    assert "--bins must be given for 'n'" in capsys.readouterr().err
    assert main(["groups", "v.csv", "--group", "a=b", "--column", "n", "--epsilon", "1"]) == 2
    assert "required: --bins" in capsys.readouterr().err


def test_known_labels_are_those_of_the_column(run, capsys) -> None:
    made = release_of(run, "labels --label code --known-labels code --epsilon 1")
    assert made.mechanism.labels == ("x", "y")
    assert run("labels --label code --known-labels codes.txt --epsilon 1") == 2
    assert "--known-labels must be code: held/clinic.toml lists" in capsys.readouterr().err
    assert run("labels --label code --known-labels town --epsilon 1") == 2
    assert run("labels --label n --known-labels codes.txt --epsilon 1") == 0
    capsys.readouterr()
    assert run("labels --label n --known-labels age --epsilon 1") == 2
    assert "has bins of age" in capsys.readouterr().err
    assert run(f"labels --label code {BUDGET}") == 0  # labels that enough users have


def test_whole_numbers_are_labels_of_text_files(run, capsys) -> None:
    facts = FACTS + "n = [1, 2]\n"
    words = "labels --label n --known-labels n --epsilon 1"
    assert release_of(run, words, facts=facts).mechanism.labels == ("1", "2")
    visits = {"patient": ["1", "2"], "n": [1, 2]}
    pq.write_table(pa.table(visits), "held/visits.parquet")
    facts = facts.replace("visits.csv", "visits.parquet")
    assert release_of(run, words, facts=facts).mechanism.labels == (1, 2)


def test_leaves_of_regions_are_the_values_of_the_column(run, capsys) -> None:
    words = "anonymize --label code --region town --regions towns.txt --epsilon 1"
    Path("towns.txt").write_text("A,all\nB,all\n")
    assert run(words) == 0
    for towns in ("A,all\n", "B,all\nA,all\n", "A,all\nB,all\nC,all\n"):
        Path("towns.txt").write_text(towns)
        capsys.readouterr()
        assert run(words) == 2
        said = "--regions must have the leaves that held/clinic.toml lists of 'town'"
        assert said in capsys.readouterr().err


def test_the_file_of_regions_is_read_once(run, monkeypatch) -> None:
    """A second reading could find another tree, or nothing where the file is a pipe."""
    Path("towns.txt").write_text("A,all\nB,all\n")
    read, files = dh.RegionTree.read, []

    def note(path, column=None):
        files.append(path)
        return read(path, column)

    monkeypatch.setattr(dh.RegionTree, "read", note)
    assert run("anonymize --label code --region town --regions towns.txt --epsilon 1") == 0
    assert files == ["towns.txt"]


def test_plans_take_listed_values(run, capsys) -> None:
    assert run("plan tables --axis town --axis n=size:9 --tables town,n --epsilon 1") == 0
    assert run("plan labels --known-labels code --max-labels 1 --epsilon 1") == 0
    assert "2 labels in a public list" in capsys.readouterr().out
    assert run("plan tables --axis town=size:9 --tables town --epsilon 1") == 2
    assert "--axis must be what held/clinic.toml lists" in capsys.readouterr().err
    assert run("plan tables --axis n --tables n --epsilon 1") == 2
    assert "must list values of 'n'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["ranges", "groups"])
def test_plans_take_listed_bins(run, kind, capsys) -> None:
    facts = FACTS + 'day = "2026-02-01:2026-02-05:1d"\n'
    words = f"plan {kind} --expect-total 100 --epsilon 1 --bins"
    named = {"age": "2", "day": "4"} | ({"age,3,day": "2,3,4"} if kind == "ranges" else {})
    for names, numbers in named.items():
        assert run(f"{words} {names} --json", facts=facts) == 0
        made = json.loads(capsys.readouterr().out)
        assert run(f"{words} {numbers} --json", facts=facts) == 0
        assert json.loads(capsys.readouterr().out) == made
    assert run(f"{words} n", facts=facts) == 2
    assert "--bins must be given for 'n': held/clinic.toml has none" in capsys.readouterr().err
    assert run(f"{words} town", facts=facts) == 2
    assert "lists values of 'town', and no bins" in capsys.readouterr().err
    assert main(f"{words} age".split()) == 2
    assert "--bins must be a whole number" in capsys.readouterr().err
    assert run(f"{words} 1.5", facts=facts) == 2
    assert "argument --bins: must be a whole number" in capsys.readouterr().err


def test_listed_values_are_paid_for(run, capsys) -> None:
    dh.Ledger.create("held/a.ledger", epsilon=30, delta="1e-5", unit="one patient")
    facts = 'unit = "one patient"\nledger = "a.ledger"\n' + FACTS
    every = [words for words, _ in LISTED.values()]
    every += ["ranges --column age --epsilon 1"]
    every += ["labels --label code --known-labels code --epsilon 1"]
    for number, words in enumerate(every):
        paid = f"{words} --by ann --key k{number}"
        assert "entry" in release_of(run, paid, facts=facts).provenance
        assert run(paid, facts=facts) == 6  # the stored release
        assert run(paid.replace("--epsilon 1", "--epsilon 2"), facts=facts) != 0
    changed = facts.replace('["A", "B"]', '["A", "C"]')
    assert run(f"{every[0]} --by ann --key k0", facts=changed) not in (0, 6)


def test_a_section_takes_listed_values(run, capsys) -> None:
    lines = ["[t]", 'command = "tables"', 'dataset = "held/clinic.toml"', 'axis = ["town"]']
    lines += ["tables = 'town'", "epsilon = 1", "[g]", 'command = "groups"', "group = 'town'"]
    lines += ["column = 'age'", "epsilon = 1", 'dataset = "held/clinic.toml"']
    Path("run.toml").write_text("\n".join(lines))
    Path("held/clinic.toml").write_text(FACTS)
    assert main(["run", "run.toml"]) == 0
    Path("run.toml").write_text("\n".join(lines).replace("'town'\ncolumn", "'town=A'\ncolumn"))
    assert main(["run", "run.toml"]) == 2
    assert "group must be what held/clinic.toml lists of 'town'" in capsys.readouterr().err


def test_an_error_names_keys_of_the_file(run, capsys) -> None:
    """It advises no option that a description refuses."""
    dh.Ledger.create("held/a.ledger", epsilon=30, delta="1e-5", unit="one patient")
    facts = 'ledger = "a.ledger"\n' + FACTS
    words = "ranges --column age --epsilon 1 --by ann --key a"
    assert run(words, facts=facts) != 0
    said = 'say so with unit = "one patient" in held/clinic.toml when they are counted'
    assert said in capsys.readouterr().err
    Path("held/visits.csv").write_text("patient,town\n,A\n")
    assert run(f"labels --label town {BUDGET}") != 0
    assert 'null_users = "drop" in held/clinic.toml' in capsys.readouterr().err
    facts = 'null_users = "separate"\n' + FACTS
    assert run(f"labels --label town --null-users refuse {BUDGET}", facts=facts) == 2
    assert "--null-users must be" in capsys.readouterr().err
    with sqlite3.connect("held/v.db") as connection:
        connection.execute("CREATE TABLE visit (patient, town)")
    facts = 'query = "SELECT 1,"\n' + FACTS.replace("visits.csv", "v.db")
    assert run(f"labels --label town {BUDGET}", facts=facts) == 2
    assert "query in held/clinic.toml must be one SELECT" in capsys.readouterr().err
    Path("held/clinic.toml").write_text(facts)
    assert main(["dataset", "check", "held/clinic.toml"]) == 0
    assert "held/v.db: not opened, so the query was not tried" in capsys.readouterr().out


def test_a_fault_of_the_file_names_its_key(run, capsys) -> None:
    assert run(f"labels --label town {BUDGET}", facts='decimal = ";"\n' + FACTS) == 2
    assert "held/clinic.toml: decimal must be" in capsys.readouterr().err


def test_an_output_does_not_replace_a_list(run, capsys) -> None:
    words = "tables --axis town --tables town --epsilon 1 --output held/codes.txt --overwrite"
    assert run(words) == 2
    assert "held/codes.txt is an input" in capsys.readouterr().err


READ = {
    "query": "'SELECT rowid AS patient, town FROM visits'",
    "table_name": "visits",
    "sheet": "visits",
    "delimiter": "';'",
    "encoding": "cp1252",
    "decimal": ",",
    "date_format": "%d.%m.%Y",
}


@pytest.mark.parametrize("option", READ)
def test_how_files_are_read_is_not_typed(run, option, capsys) -> None:
    words = f"labels --label town {BUDGET} --{option.replace('_', '-')} {READ[option]}"
    for facts in (FACTS, f"{option} = {json.dumps(READ[option].strip(chr(39)))}\n{FACTS}"):
        assert run(words, facts=facts) == 2
        said = capsys.readouterr().err
        assert f"--{option.replace('_', '-')} must be left out: how files are read" in said


def test_a_query_of_the_file_is_run(run) -> None:
    with sqlite3.connect("held/v.db") as connection:
        connection.execute("CREATE TABLE visit (patient, town)")
        connection.execute("CREATE TABLE other (patient)")
        connection.executemany("INSERT INTO visit VALUES (?, ?)", [(1, "A"), (1, "A"), (2, "B")])
    facts = FACTS.replace("visits.csv", "v.db")
    words = "tables --axis town --tables town --epsilon 1"
    release_of(run, words, facts='query = "SELECT * FROM visit"\n' + facts)  # noqa: S608
    release_of(run, words, facts='table_name = "visit"\n' + facts)
    assert run(words, facts=facts) != 0  # there are two tables


def test_wide_files(run, capsys) -> None:
    Path("held/visits.csv").write_text("patient,A,B\n1,2,\n2,0,1\n")
    wide = 'wide = ["A", "B"]\nmax_count = 2\n'
    keys = 'max_labels = 2\nmax_rows = 3\n[keys]\nlabel = ["A", "B"]\n'
    facts = 'files = "visits.csv"\nuser = "patient"\n' + wide + keys
    labels = f"labels {BUDGET}"
    assert release_of(run, labels, facts=facts).provenance["max_count"] == "2"
    release_of(run, "tables --axis label --tables label --epsilon 1", facts=facts)
    assert run(f"{labels} --wide A", facts=facts) == 2
    assert "--wide must be left out" in capsys.readouterr().err
    Path("other.txt").write_text("B\nA\n")
    for named in ("", "--label sort"):  # melted values have another name, and are those listed
        assert run(f"labels --epsilon 1 {named} --known-labels other.txt", facts=facts) == 2
        assert "--known-labels must be label" in capsys.readouterr().err
    release_of(run, "labels --epsilon 1 --label sort --known-labels label", facts=facts)
    assert run("anonymize --label A --epsilon 1", facts=facts) == 2
    assert "says wide: this command does not take such files" in capsys.readouterr().err


def test_the_time_zone_is_that_of_dates(run, capsys) -> None:
    facts = 'tz = "Europe/Zurich"\n' + FACTS
    dates = "ranges --column day --edges 2026-02-01,2026-02-03 --epsilon 1"
    assert run(f"{dates} --tz none", facts=facts) == 0
    assert run(f"{dates} --dry-run", facts=facts) == 0
    capsys.readouterr()
    assert run(dates, facts=facts) == 1  # the column has no zone
    assert "each with a time zone" in capsys.readouterr().err
    assert run("ranges --column n --edges 0,9 --epsilon 1", facts=facts) == 0


PEOPLE_TOO = {
    "labels": (f"labels --label town {BUDGET}", "one row"),
    "top": (f"top --label town {BUDGET}", "one row"),
    "anonymize": ("anonymize --label town --epsilon 1", "one record"),
    "ranges": ("ranges --column age --edges 0,100 --epsilon 1", "one record"),
    "tables": ("tables --axis town=A,B --tables town --epsilon 1", "one record"),
    "groups": ("groups --group town=A,B --column age --bins 0:90:30 --epsilon 1", "one record"),
}


@pytest.mark.parametrize("command", PEOPLE_TOO)
def test_rows_that_are_one_person_each(run, command, capsys) -> None:
    words, unit = PEOPLE_TOO[command]
    described = release_of(run, words, facts=PEOPLE)
    typed = [*shlex.split(words), "held/visits.csv", "--each-row-is-one-person"]
    assert main([*typed, "--output", "t.json"]) == 0
    plain = dh.Release.load("t.json")
    assert described.mechanism == plain.mechanism
    assert described.provenance.get("unit") == plain.provenance.get("unit")
    assert described.guarantee == plain.guarantee
    capsys.readouterr()
    assert run(words, "--dry-run", facts=PEOPLE) == 0
    assert unit in capsys.readouterr().out
    for option in ("--user patient", "--unit patient"):
        assert run(f"{words} {option}", facts=PEOPLE) == 2
        said = "must be left out: held/clinic.toml says each_row_is_one_person"
        assert said in capsys.readouterr().err


AMOUNTS = {
    "labels": ("max_count", "--max-count"),
    "top": ("max_count", "--max-count"),
    "ranges": ("max_records", "--max-records"),
    "tables": ("max_rows", "--max-rows"),
    "groups": ("max_rows", "--max-rows"),
}


@pytest.mark.parametrize("command", AMOUNTS)
def test_a_row_of_several_records_is_protected_as_a_whole(run, command, capsys) -> None:
    words = PEOPLE_TOO[command][0] + " --count n"
    bound, option = AMOUNTS[command]
    for facts, most in ((PEOPLE, 1), (PEOPLE + f"{bound} = 3\n", 3)):
        made = release_of(run, words, facts=facts)
        assert made.provenance["unit"] == dh.PrivacyUnit("row")
        records = "max_count" if bound == "max_count" else "max_records"
        assert made.provenance[records] == str(most)
        assert run(f"{words} {option} {most}", facts=facts) == 0
        capsys.readouterr()
        assert run(f"{words} {option} {most + 1}", facts=facts) == 2
        assert f"{option} must be at most {most}" in capsys.readouterr().err


def test_an_account_of_records_takes_no_rows_of_several(run, capsys) -> None:
    facts = PEOPLE + 'max_count = 3\nledger = "a.ledger"\n'
    dh.Ledger.create("held/a.ledger", epsilon=30, delta="1e-5", unit="one record")
    paid = "--by ann --key a"
    assert run(f"labels --label town --count n {BUDGET} {paid}", facts=facts) != 0
    said = "the release protects one row: use an account for the unit 'row'"
    assert said in capsys.readouterr().err


def test_what_protects_less_than_a_row_is_refused(run, capsys) -> None:
    assert run("anonymize --label town --count n --epsilon 1", facts=PEOPLE) == 2
    assert "--count must be left out" in capsys.readouterr().err
    assert run("anonymize --epsilon 1", facts=PEOPLE) == 2
    assert "--label is needed" in capsys.readouterr().err
    assert run(f"labels --label town --max-labels 2 {BUDGET}", facts=PEOPLE) == 2
    said = "--max-labels must be at most 1, as each row of held/clinic.toml is one person"
    assert said in capsys.readouterr().err
    stream = f"stream --state s.db --label town --horizon 100 {BUDGET}"
    assert run(stream, "--dry-run", facts=PEOPLE) == 2
    assert "this command needs a column of users" in capsys.readouterr().err
    assert run(f"labels --label town --null-users drop {BUDGET}", facts=PEOPLE) == 2
    assert run(f"labels --label town --wide n {BUDGET}", facts=PEOPLE) == 2
    weights = f"labels --label town --weight n=0:9:1 {BUDGET}"
    assert release_of(run, weights, facts=PEOPLE).provenance["max_count"] == "1"


def test_an_account_of_rows(run, capsys) -> None:
    facts = PEOPLE + 'ledger = "a.ledger"\n'
    assert run("ledger create --epsilon 90 --delta 1e-5", facts=facts) == 0
    (account,) = dh.Ledger.open("held/a.ledger").accounts
    assert account.unit == dh.PrivacyUnit("record")
    for number, (words, _) in enumerate(PEOPLE_TOO.values()):
        release_of(run, f"{words} --by ann --key k{number}", facts=facts)
    assert run("plan labels --epsilon 1", facts=facts) == 0
    capsys.readouterr()
    assert run("plan labels --max-labels 1,2 --epsilon 1", facts=facts) == 2
    assert "--max-labels must be at most 1" in capsys.readouterr().err
    assert run("plan tables --axis a=x,y --tables a --epsilon 1", facts=facts) == 0
