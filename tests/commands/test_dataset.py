"""--dataset on the command line and in a configuration: what the file says, and nothing weaker."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands.configuration import read_command_line
from dphist.commands.registry import list_releasing

FACTS = """files = "visits.csv"
user = "patient"
unit = "one patient"
max_labels = 2
max_count = 3
max_records = 4
max_rows = 2
"""
BUDGET = ("--epsilon", "1", "--delta", "1e-6")
COMMANDS: dict[str, tuple[str, ...]] = {
    "labels": ("--label", "drug", *BUDGET),
    "top": ("--label", "drug", *BUDGET),
    "anonymize": ("--label", "drug", "--epsilon", "1"),
    "ranges": ("--column", "age", "--edges", "0,50,100", "--epsilon", "1"),
    "tables": ("--axis", "drug=a,b,c", "--tables", "drug", "--epsilon", "1"),
    "groups": ("--group", "drug=a,b,c", "--column", "age", "--bins", "0:100:50", "--epsilon", "1"),
}
BOUNDS = [
    ("labels", "max_labels", 2),
    ("labels", "max_count", 3),
    ("top", "max_labels", 2),
    ("anonymize", "max_records", 4),
    ("ranges", "max_records", 4),
    ("tables", "max_rows", 2),
    ("groups", "max_rows", 2),
]
Describe = Callable[..., None]


@pytest.fixture
def describe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Describe:
    """Write a description, and its data, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "held").mkdir()

    def write(facts: str = FACTS, rows: str = "1,a,20\n1,b,20\n2,a,60\n3,c,70\n") -> None:
        Path("held/visits.csv").write_text("patient,drug,age\n" + rows)
        Path("held/clinic.toml").write_text(facts)

    write()
    return write


def run_with_dataset(command: str, *more: str) -> int:
    return main([command, "--dataset", "held/clinic.toml", *COMMANDS[command], *more])


def read(command: str, *more: str) -> Any:
    return read_command_line([command, "--dataset", "held/clinic.toml", *COMMANDS[command], *more])


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_release_is_that_of_the_options_typed(command, describe, capsys) -> None:
    assert run_with_dataset(command, "--output", "described.json", "--report", "page.html") == 0
    bounds = {name: most for each, name, most in BOUNDS if each == command}
    if command == "top":
        bounds["max_count"] = 3
    typed = ["held/visits.csv", "--user", "patient", "--unit", "one patient"]
    for name, most in bounds.items():
        typed += [f"--{name.replace('_', '-')}", str(most)]
    assert main([command, *typed, *COMMANDS[command], "--output", "typed.json"]) == 0
    one, other = dh.Release.load("described.json"), dh.Release.load("typed.json")
    assert one.mechanism == other.mechanism
    assert one.guarantee == other.guarantee
    digest = dh.Dataset.open("held/clinic.toml").digest
    assert one.provenance == {**other.provenance, "description": digest}
    assert digest in Path("page.html").read_text()
    assert "description" not in other.to_json()
    assert f'"description": "{digest}"' in Path("described.json").read_text()
    capsys.readouterr()
    assert run_with_dataset(command, "--output", "again.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["description"] == digest


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dry_run_reads_no_data(command, describe, capsys) -> None:
    Path("held/visits.csv").unlink()
    assert run_with_dataset(command, "--dry-run") == 0
    assert "patient" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "bound", "most"), BOUNDS)
def test_a_bound_may_only_be_smaller(command, bound, most, describe, capsys) -> None:
    option = f"--{bound.replace('_', '-')}"
    assert getattr(read(command), bound) == most
    assert getattr(read(command, option, str(most - 1)), bound) == most - 1
    Path("held/visits.csv").unlink()  # refused before data are read
    assert run_with_dataset(command, option, str(most + 1)) == 2
    assert f"{option} must be at most {most}, as held/clinic.toml says" in refusal(capsys)
    assert run_with_dataset(command, option, "0") == 2
    assert option in refusal(capsys)


@pytest.mark.parametrize(
    ("command", "bound"), [(c, b) for c, b, _ in BOUNDS if b != "max_count" and c != "top"]
)
def test_a_number_that_is_found_is_not_below_a_bound(command, bound, describe, capsys) -> None:
    option = f"--{bound.replace('_', '-')}"
    assert run_with_dataset(command, option, "auto") == 2
    assert option in refusal(capsys)


def test_what_the_file_leaves_out_is_left_to_the_command(describe, capsys) -> None:
    describe('files = "visits.csv"\nuser = "patient"\n')
    assert read("labels").max_labels is None
    assert read("labels", "--max-labels", "auto").max_labels == "auto"
    assert read("labels", "--max-labels", "7").max_labels == 7
    assert run_with_dataset("tables") == 2
    assert "user in held/clinic.toml needs --max-rows" in refusal(capsys)
    assert run_with_dataset("labels", "--max-labels", "2", "--max-count", "2") == 2
    assert "--max-count must be at most 1, unless held/clinic.toml has it" in refusal(capsys)


def test_labels_without_counts_go_beside_a_bound_of_counts(describe, capsys) -> None:
    assert read("labels", "--only-labels").max_count == 1
    assert run_with_dataset("labels", "--only-labels", "--output", "r.json", "--quiet") == 0
    assert dh.Release.load("r.json").provenance["max_count"] == "1"
    assert run_with_dataset("labels", "--only-labels", "--max-count", "4") == 2
    assert "--max-count must be at most 3" in refusal(capsys)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (("visits.csv",), "FILE"),
        (("--user", "patient"), "--user"),
        (("--unit", "one patient"), "--unit"),
        (("--ledger", "a.ledger"), "--ledger"),
    ],
)
def test_what_only_the_file_says_is_not_typed(command, typed, named, describe, capsys) -> None:
    assert main([command, *typed, "--dataset", "held/clinic.toml", *COMMANDS[command]]) == 2
    assert f"dphist: {named} must be left out: held/clinic.toml says" in refusal(capsys)


@pytest.mark.parametrize(
    "typed", [("--each-row-is-one-person",), ("--sensitivity", "1")], ids=["rows", "sensitivity"]
)
def test_users_are_not_given_up(typed, describe, capsys) -> None:
    assert run_with_dataset("anonymize", *typed) == 2
    said = refusal(capsys)
    assert typed[0] in said
    assert "user in held/clinic.toml" in said


@pytest.mark.parametrize("stated", ["refuse", "drop", "separate"])
@pytest.mark.parametrize("asked", ["refuse", "drop", "separate"])
@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "groups"])
def test_null_users_may_only_be_stricter(command, stated, asked, describe, capsys) -> None:
    describe(FACTS + f'null_users = "{stated}"\n')
    assert (read(command).null_users or "refuse") == stated
    if asked == stated or (stated, asked) == ("separate", "drop"):
        assert read(command, "--null-users", asked).null_users == asked
    else:
        assert run_with_dataset(command, "--null-users", asked) == 2
        assert "--null-users must be" in refusal(capsys)


def test_a_command_that_refuses_rows_without_a_user_says_so(describe, capsys) -> None:
    describe(FACTS + 'null_users = "drop"\n')
    assert run_with_dataset("groups") == 2
    assert 'says null_users = "drop": this command refuses such rows' in refusal(capsys)


def test_the_ledger_of_the_file_pays(describe, capsys, monkeypatch) -> None:
    dh.Ledger.create("held/a.ledger", epsilon=3, delta="1e-5", unit="one patient")
    monkeypatch.setenv("DPHIST_LEDGER", "another.ledger")  # that of the file goes before
    describe(FACTS + 'ledger = "a.ledger"\n')
    assert run_with_dataset("labels") == 2
    assert "--by and --key must be given with a ledger" in refusal(capsys)
    paid = ("--by", "ann", "--key", "one")
    assert run_with_dataset("labels", *paid, "--dry-run") == 0
    assert len(dh.Ledger.open("held/a.ledger").entries()) == 2
    assert run_with_dataset("labels", *paid, "--output", "r.json") == 0
    release = dh.Release.load("r.json")
    assert release.provenance["entry"] == "3"
    assert release.provenance["description"] == dh.Dataset.open("held/clinic.toml").digest
    capsys.readouterr()
    # The key stands for the data and the options, whoever gives them.
    typed = ["held/visits.csv", "--user", "patient", "--unit", "one patient", "--max-labels", "2"]
    typed += ["--max-count", "3", "--ledger", "held/a.ledger", *paid]
    assert main(["labels", *typed, *COMMANDS["labels"]]) == 6
    assert run_with_dataset("labels", *paid, "--again") == 0


def test_words_of_the_file_stand_where_no_others_are_typed(describe) -> None:
    describe(FACTS + 'dataset_name = "Visits"\nowner = "Records office"\nperiod = "2025"\n')
    assert run_with_dataset("labels", "--output", "r.json", "--owner", "Ward 3", "--quiet") == 0
    said = dh.Release.load("r.json").presentation
    assert (said.dataset, said.owner, said.period) == ("Visits", "Ward 3", "2025")


def test_the_account_of_the_file_pays(describe, capsys) -> None:
    with dh.Ledger.create("held/c.ledger", epsilon=2, delta="1e-6", unit="one patient") as ledger:
        ledger.open_account("other", epsilon=3, delta="1e-5", unit="one patient")
    describe(FACTS + 'ledger = "c.ledger"\naccount = "other"\n')
    assert (
        run_with_dataset("labels", "--output", "r.json", "--by", "ana", "--key", "k", "--quiet")
        == 0
    )
    with dh.Ledger.open("held/c.ledger") as ledger:
        assert float(ledger.balance("other").spent.delta) > 0
        assert float(ledger.balance("main").spent.delta) == 0
    assert run_with_dataset("labels", "--account", "main", "--by", "ana", "--key", "l") == 2
    assert "--account must be left out: held/clinic.toml says" in refusal(capsys)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (FACTS + "max_lables = 3", "max_lables is not a key of a data set; did you mean"),
        ('user = "patient"', "files is missing"),
        (FACTS.replace("= 2", "= 0"), "must be at least 1"),
        ("files = ", "must be a TOML file"),
    ],
)
def test_a_wrong_description_is_refused(facts, says, describe, capsys) -> None:
    describe(facts)
    assert run_with_dataset("labels") == 2
    assert says in refusal(capsys)


def test_what_is_no_description_is_refused(describe, capsys) -> None:
    assert main(["labels", "--dataset", "Visits 2026", *COMMANDS["labels"]]) == 2
    assert "the name of the data, for pages, is --dataset-name" in refusal(capsys)
    assert main(["labels", "--dataset", "none.toml", *COMMANDS["labels"]]) == 2
    assert "none.toml cannot be read" in refusal(capsys)
    assert main(["labels", "--dataset=", *COMMANDS["labels"]]) == 2
    assert "--dataset must name a TOML file" in refusal(capsys)


def test_an_output_does_not_replace_the_description(describe, capsys) -> None:
    assert run_with_dataset("labels", "--output", "held/clinic.toml", "--overwrite") == 2
    assert "held/clinic.toml is an input; writing there would destroy it" in refusal(capsys)


RUN = """[drugs]
command = "labels"
dataset = "held/clinic.toml"
label = "drug"
epsilon = 1
delta = 1e-6
output = "r.json"
"""


def test_a_section_names_a_description(describe, capsys) -> None:
    Path("run.toml").write_text(RUN)
    for words in (["run", "run.toml"], ["labels", "--config", "run.toml", "--overwrite"]):
        assert main(words) == 0
        said = dh.Release.load("r.json").provenance
        assert {"configuration", "description"} <= said.keys()
        assert (said["max_labels"], said["max_count"]) == ("2", "3")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("max-labels = 3", "max-labels must be at most 2, as held/clinic.toml says"),
        ("max-labels = 'auto'", "max-labels must be a number of at most 2"),
        ("null-users = 'drop'", 'null-users must be "refuse"'),
        ("user = 'drug'", "user must be left out"),
        ("file = 'visits.csv'", "FILE must be left out"),
        ("ledger = 'a.ledger'", "ledger must be left out"),
    ],
)
def test_a_section_may_only_be_stricter(line, says, describe, capsys) -> None:
    Path("run.toml").write_text(RUN + line)
    for words in (["run", "run.toml"], ["labels", "--config", "run.toml", "--dry-run"]):
        assert main(words) == 2
        assert f"dphist: run.toml: [drugs] {says}" in refusal(capsys)


def test_a_plan_of_a_ledger_prices_it(describe, capsys) -> None:
    dh.Ledger.create("held/a.ledger", epsilon=3, delta="1e-5", unit="one patient")
    typed = f"labels --dataset held/clinic.toml {' '.join(COMMANDS['labels'])}"
    assert main(["ledger", "plan", "held/a.ledger", "--release", typed]) == 0
    assert main(["ledger", "plan", "held/a.ledger", "--release", typed + " --max-labels 3"]) == 2
    assert "--max-labels must be at most 2" in capsys.readouterr().err


@pytest.mark.parametrize("ledger", [False, True], ids=["free", "paid"])
@pytest.mark.parametrize(
    ("command", "more"),
    [
        *((command, ()) for command in COMMANDS),
        ("anonymize", ("--region", "ward", "--regions", "regions.txt")),
        ("ranges", ("--users-by-records", "10")),
        ("labels", ("--users-by-labels", "10")),
        ("stream", ()),
    ],
)
def test_every_kind_of_release_names_the_digest(
    command, more, ledger, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("held").mkdir()
    Path("held/visits.csv").write_text("patient,drug,age,ward\n1,a,20,north\n2,b,60,south\n")
    Path("regions.txt").write_text("north,all\nsouth,all\n")
    facts, paid = EVENTS, []
    if ledger:
        dh.Ledger.create("held/a.ledger", epsilon=9, delta="1e-5", unit="one patient")
        facts, paid = facts + 'ledger = "a.ledger"\n', ["--by", "ann", "--key", "one"]
    Path("held/clinic.toml").write_text(facts)
    if command == "stream":
        assert feed(monkeypatch, *NEW, *paid) == 0
    else:
        assert run_with_dataset(command, *more, *paid, "--output", "r.json", "--quiet") == 0
    stated = dh.Release.load("r.json").provenance
    assert stated["description"] == dh.Dataset.open("held/clinic.toml").digest
    assert ("entry" in stated) is ledger


@pytest.mark.parametrize("words", [["show"], ["add-noise"], ["properties"], ["diff"], ["cite"]])
def test_commands_of_releases_have_no_such_option(words, capsys) -> None:
    assert {*COMMANDS} == {*list_releasing()} - {"stream"}
    assert main([*words, "--dataset", "clinic.toml"]) == 2
    assert "there is no option --dataset" in capsys.readouterr().err


STREAM = ("stream", "--state", "s.db", "--format", "csv", "--label", "drug", "--quiet")
NEW = ("--epsilon", "5", "--delta", "1e-6", "--horizon", "100")
EVENTS = FACTS + "max_events_per_user = 3\n"


def feed(monkeypatch, *more: str) -> int:
    Path("events.csv").write_text("patient,drug\n1,a\n1,b\n2,a\n")
    with Path("events.csv").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        dataset = "--dataset", "held/clinic.toml"
        return main([*STREAM, *dataset, "--output", "r.json", *more])


def test_a_stream_takes_users_bounds_and_ledger(describe, capsys, monkeypatch) -> None:
    dh.Ledger.create("held/a.ledger", epsilon=9, delta="1e-5", unit="one patient")
    describe(EVENTS + 'ledger = "a.ledger"\nowner = "Ward 3"\n')
    paid = ("--by", "ann", "--key", "one")
    for option, most in (("--max-events-per-user", 3), ("--max-labels", 2)):
        assert feed(monkeypatch, *NEW, *paid, option, str(most + 1)) == 2
        assert f"{option} must be at most {most}, as held/clinic.toml says" in refusal(capsys)
    for option in ("--user", "--unit", "--ledger"):
        assert feed(monkeypatch, *NEW, *paid, option, "patient") == 2
        assert f"{option} must be left out" in refusal(capsys)
    assert feed(monkeypatch, *NEW, *paid) == 0
    release = dh.Release.load("r.json")
    assert release.mechanism.max_events_per_user == 3
    assert release.mechanism.max_labels == 1  # the default, for the bound is not of an event
    assert release.provenance["description"] == dh.Dataset.open("held/clinic.toml").digest
    assert release.presentation.owner == "Ward 3"
    assert release.provenance["entry"] == "3"
    for again in (paid, (*NEW, *paid)):  # the state has the parameters
        assert feed(monkeypatch, *again) == 0


def test_a_state_is_within_the_description(describe, capsys, monkeypatch) -> None:
    describe(EVENTS)
    assert feed(monkeypatch, *NEW, "--max-events-per-user", "2") == 0
    assert feed(monkeypatch) == 0  # goes on with the smaller bound
    describe(EVENTS.replace("user = 3", "user = 1"))
    assert feed(monkeypatch) == 2
    said = refusal(capsys)
    assert "--max-events-per-user must be at most 1, as held/clinic.toml says" in said
    describe(FACTS + 'null_users = "drop"\n')
    assert feed(monkeypatch) == 2
    assert "this command refuses such rows" in refusal(capsys)


def test_a_weight_is_within_a_bound_that_the_file_leaves_out(describe, capsys) -> None:
    """Of a label, a user adds at most 1 then."""
    weighed = ("--weight", "age=0:100:1", "--max-labels", "1")
    for said, most in ("", "1 record"), ("max_count = 50\n", "50 records"):
        describe(FACTS.replace("max_count = 3\n", said))
        assert run_with_dataset("labels", *weighed, "--dry-run", "--json") == 0
        assert f" and {most} of each" in json.loads(capsys.readouterr().out)["counts_of"]


def put(monkeypatch, *more: str) -> int:
    """Feed visits of patients to a stream without the description."""
    rows = "".join(f"1,{visit},rare\n" for visit in range(20))
    Path("visits.csv").write_text("patient,visit,drug\n" + rows)
    with Path("visits.csv").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        return main([*STREAM, "--output", "v.json", *more])


def test_a_state_has_the_users_of_the_description(describe, capsys, monkeypatch) -> None:
    """Else one patient of it may have added any number of events, as many visits."""
    describe(EVENTS)
    bound = ("--max-events-per-user", "2")
    assert put(monkeypatch, *NEW, *bound, "--user", "visit", "--unit", "one visit") == 0
    assert feed(monkeypatch) == 2
    assert "user in held/clinic.toml must be as the stream was made with" in refusal(capsys)
    assert not Path("r.json").exists()
    assert put(monkeypatch, "--user", "visit", "--unit", "one patient") == 2
    assert "--unit must be as the stream was made with" in refusal(capsys)
    assert put(monkeypatch, "--user", "visit") == 0
    assert dh.Release.load("v.json").guarantee.unit.who == "visit"


def test_a_paid_state_goes_on_with_the_users_of_the_account(describe, capsys, monkeypatch) -> None:
    dh.Ledger.create("held/a.ledger", epsilon=9, delta="1e-5", unit="one patient")
    describe(EVENTS + 'ledger = "a.ledger"\n')
    paid = ("--by", "ann", "--key", "one")
    assert feed(monkeypatch, *NEW, *paid) == 0
    for unit, fault in (
        (("--unit", "one visit"), "must be that of the account that paid"),
        ((), "--user must be as the stream was made with"),
    ):
        typed = ("--ledger", "held/a.ledger", *paid, "--user", "visit", *unit)
        assert put(monkeypatch, *typed) != 0
        assert fault in refusal(capsys)
    assert feed(monkeypatch, *paid) == 0


def test_a_state_that_does_not_name_its_users(describe, capsys, monkeypatch) -> None:
    """Of a program or an earlier version: no option vouches for the events before."""
    describe(EVENTS)
    stated: dict[str, Any] = {"epsilon": 5, "delta": "1e-6", "horizon": 100}
    stated["max_events_per_user"] = 2
    with dh.ContinualHistogram.open("s.db", **stated) as stream:
        stream.update(["a"], user="1")
    for go_on in (
        lambda: feed(monkeypatch),
        lambda: put(monkeypatch, "--user", "patient", "--unit", "one patient"),
    ):
        assert go_on() != 0
        assert "say so once in Python, stream.name_users('patient')" in refusal(capsys)
    with dh.ContinualHistogram.open("s.db") as stream:
        stream.name_users("patient", "one patient")
    assert put(monkeypatch, "--user", "patient", "--unit", "one patient") == 0
    assert feed(monkeypatch) == 0
    assert dh.Release.load("r.json").guarantee.unit.who == "patient"


def test_a_stream_of_users_needs_a_bound(describe, capsys, monkeypatch) -> None:
    for more in ((), ("--dry-run",)):
        assert feed(monkeypatch, *NEW, *more) == 2
        assert "user in held/clinic.toml needs --max-events-per-user" in refusal(capsys)


PLANS = {
    "labels": ("max-labels", 2, ()),
    "anonymized": ("sensitivity", 4, ("--expect-total", "1000")),
    "ranges": ("sensitivity", 4, ("--expect-total", "1000", "--bins", "9")),
    "tables": ("max-rows", 2, ("--axis", "drug=a,b", "--tables", "drug")),
    "groups": ("max-rows", 2, ("--expect-total", "1000", "--bins", "9")),
    "streams": ("max-events-per-user", 3, ("--horizon", "99")),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_compares_what_the_file_allows(kind, describe, capsys) -> None:
    option, most, more = PLANS[kind]
    describe(EVENTS)
    words = ["plan", kind, *more, "--epsilon", "1", "--dataset", "held/clinic.toml"]
    assert main(words) == 0
    assert "patient" in capsys.readouterr().out
    assert getattr(read_command_line(words), option.replace("-", "_")) == most
    assert main([*words, f"--{option}", f"1,{most}"]) == 0
    capsys.readouterr()
    assert main([*words, f"--{option}", f"1,{most + 1}"]) == 2
    assert f"--{option} must be at most {most}, as held/clinic.toml says" in refusal(capsys)
    assert main([*words, "--unit", "one patient"]) == 2
    assert "--unit must be left out" in refusal(capsys)
    describe('files = "visits.csv"\nuser = "patient"\nnull_users = "drop"\n')
    assert main([*words, f"--{option}", "1,7"]) == 0  # the file has no such bound


def test_a_plan_names_the_digest(describe, capsys) -> None:
    words = ["plan", "labels", "--max-labels", "1", "--epsilon", "1"]
    assert main([*words, "--dataset", "held/clinic.toml", "--output", "p.json"]) == 0
    digest = dh.Dataset.open("held/clinic.toml").digest
    assert digest in capsys.readouterr().out.replace("\n", "").replace(" ", "")
    assert json.loads(Path("p.json").read_text())["description"] == digest
    made = dh.Plan.load("p.json")
    assert made.description == digest
    assert dh.Plan.from_json(made.to_json()) == made
    assert main([*words, "--output", "q.json"]) == 0
    assert "description" not in Path("q.json").read_text()
    text = Path("p.json").read_text().replace(f'"{digest}"', "7")
    with pytest.raises(dh.ReleaseFileError):
        dh.Plan.from_json(text)


def test_a_ledger_is_made_and_shown(describe, capsys) -> None:
    describe(FACTS + 'ledger = "a.ledger"\naccount = "visits"\ndataset_name = "Visits"\n')
    dataset = ["--dataset", "held/clinic.toml"]
    assert main(["ledger", "create", *dataset, "--epsilon", "3"]) == 0
    (account,) = dh.Ledger.open("held/a.ledger").accounts
    assert (account.name, account.dataset) == ("visits", "Visits")
    assert account.unit == dh.PrivacyUnit("one patient")
    for action in ("show", "verify", "log"):
        assert main(["ledger", action, *dataset]) == 0
    assert main(["ledger", "export", "e.json", *dataset]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "b.ledger", *dataset]) == 2
    assert "LEDGER must be left out" in refusal(capsys)
    describe('files = "visits.csv"\nuser = "patient"\nledger = "b.ledger"\n')
    assert main(["ledger", "create", *dataset, "--epsilon", "3"]) == 2
    assert "--unit must stand in held/clinic.toml; add unit" in refusal(capsys)
    assert main(["ledger", "close", *dataset]) == 2
    assert "--account must stand in held/clinic.toml" in refusal(capsys)
    assert main(["ledger", "create", "--dataset", "Visits", "--epsilon", "3"]) == 2
    assert "the name of the data, for pages, is --dataset-name" in refusal(capsys)
