"""`dphist run` and `--config`: releases from a file, all checked before the first is made."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main

GENES = """
[genes]
command = "labels"
file = "rows.csv"
label = "gene"
user = "patient"
max-labels = 2
epsilon = 2.0
delta = 1e-6
expect-users = 300
output = "genes.json"
title = "Genes"
"""
AGES = """
[ages]
command = "ranges"
file = "rows.csv"
column = "age"
edges = [0, 18, 65, 120]
user = "patient"
max_records = 3
epsilon = "1/2"
output = "ages.json"
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch) -> Callable[[str], str]:
    """Return what writes a configuration into a folder with data, where commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPHIST_LEDGER", raising=False)
    rows = [f"p{n},g{n % 2},{20 + n % 60}" for n in range(300)]
    Path("rows.csv").write_text("patient,gene,age\n" + "\n".join(rows) + "\n")

    def written(text: str) -> str:
        Path("release.toml").write_text(text)
        return "release.toml"

    return written


def digest(path: str) -> str:
    return "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.mark.verify
def test_all_sections_are_released_and_name_the_file(write, capsys) -> None:
    path = write(GENES + AGES)
    assert main(["run", path]) == 0
    printed = capsys.readouterr().out
    assert printed.index("[genes]") < printed.index("[ages]")
    genes, ages = dh.Release.load("genes.json"), dh.Release.load("ages.json")
    assert genes.provenance["configuration"] == ages.provenance["configuration"] == digest(path)
    assert genes.guarantee.unit.who == "user"
    assert genes.budget == dh.ApproxDP(2, "1e-6", genes.guarantee.unit)
    assert genes.presentation.title == "Genes"
    assert genes.mechanism.max_labels == 2
    assert ages.guarantee.epsilon == dh.PureDP("1/2").epsilon
    assert ages.mechanism.bins == (3,)
    assert ages.mechanism.sensitivity == 3
    assert main(["run", path]) == 2, "outputs are there"
    assert "[genes]: genes.json exists" in capsys.readouterr().err
    assert main(["run", path, "--overwrite", "--quiet", "--section", "ages"]) == 0
    assert capsys.readouterr().out == ""


def test_a_command_takes_its_section(write, capsys) -> None:
    path = write(GENES + AGES)
    assert main(["labels", "--config", path]) == 0
    assert dh.Release.load("genes.json").provenance["configuration"] == digest(path)
    assert not Path("ages.json").exists()
    assert main(["ranges", "--config=release.toml", "--section", "ages", "--dry-run"]) == 0
    assert "FILE was not opened" in capsys.readouterr().out
    for more, message in [
        (["--epsilon", "9"], "--epsilon does not go with --config"),
        (["--section", "ages"], "no section named ages for 'dphist labels'"),
    ]:
        assert main(["labels", "--config", path, *more]) == 2
        assert message in capsys.readouterr().err


def test_without_a_configuration_none_is_named(write) -> None:
    write(AGES)
    command = [
        "ranges",
        "rows.csv",
        "--each-row-is-one-person",
        "--column",
        "age",
        "--edges",
        "0,50,99",
        "--epsilon",
        "1",
    ]
    assert main([*command, "--output", "plain.json", "--quiet"]) == 0
    assert "configuration" not in dh.Release.load("plain.json").provenance


def test_a_dry_run_reads_no_data(write, capsys) -> None:
    path = write(GENES.replace("rows.csv", "none.csv") + AGES.replace("rows.csv", "none.csv"))
    assert main(["run", path, "--dry-run"]) == 0
    assert "of 300 users are" in capsys.readouterr().out, "the guess is for dry runs"


def test_a_list_of_numbers_may_have_decimals_and_infinities(write, capsys) -> None:
    ages = AGES.replace("[0, 18, 65, 120]", "[-inf, 0, 17.5, 6e1, inf]")
    assert main(["run", write(ages), "--dry-run", "--json"]) == 0
    assert '"bins": [4]' in capsys.readouterr().out


BROKEN = [
    ('epsilon = "1/2"', "epsilon = 0", "[ages]: epsilon must be greater than 0"),
    ('epsilon = "1/2"', "epsilom = 1", "unknown key 'epsilom'; did you mean 'epsilon'?"),
    ('epsilon = "1/2"', "", "[ages] must have epsilon or rho"),
    ('epsilon = "1/2"', "epsilon = true", "must have a value for epsilon"),
    ('epsilon = "1/2"', "epsilon = 1\nquiet = true", "must not have quiet: give --quiet"),
    ('epsilon = "1/2"', "epsilon = 1\ndelta = 3", "unknown key 'delta'"),
    ('column = "age"', "column = {}", "text, a number or a list"),
    ('label = "gene"', 'label = ["gene", "age"]', "[genes] must have one value for label"),
    ("max_records = 3", "max_records = 3\nmax-records = 4", "max-records twice"),
    ("max_records = 3", "max_records = 3\nusers_by_records = 3", "must be above max-records"),
    ('file = "rows.csv"\ncolumn', 'file = "none.csv"\ncolumn', "[ages]: none.csv does not exist"),
    ('output = "ages.json"', 'output = "genes.json"', "genes.json"),
    ('command = "ranges"', 'command = "rangs"', "[ages] must have a command, one of anonymize"),
    ('command = "ranges"', "", "[ages] must have a command"),
    ("[ages]", "[ages", "must be a TOML file"),
    ("[genes]", "epsilon = 1\n[genes]", "epsilon stands outside of a section"),
    ("[genes]", "[defaults]\nledgr = 1\n[genes]", "[defaults] has the unknown key 'ledgr'"),
    ("[genes]", "[defaults]\nmax_count = 3\nmax-count = 4\n[genes]", "has max-count twice"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN, ids=[each[1] for each in BROKEN])
@pytest.mark.quick(every=4)
def test_nothing_is_released_if_one_section_is_wrong(old, new, message, write, capsys) -> None:
    text = GENES + AGES
    assert text.count(old) == 1
    assert main(["run", write(text.replace(old, new))]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["release.toml", "rows.csv"]


def test_quiet_and_json_exclude_each_other(write, capsys) -> None:
    path = write(GENES)
    assert main(["labels", "--config", path, "--quiet", "--dry-run"]) == 0
    capsys.readouterr()
    assert main(["labels", "--config", path, "--quiet", "--json"]) == 2
    assert "not allowed with argument --quiet" in capsys.readouterr().err


CLICKS = """
[clicks]
command = "stream"
state = "s.state"
epsilon = 1
delta = 1e-6
horizon = 9
"""


def test_a_stream_is_run_by_itself(write, capsys) -> None:
    path = write(CLICKS + AGES)
    assert main(["stream", "--config", path, "--dry-run"]) == 0
    assert main(["run", path, "--dry-run"]) == 0
    capsys.readouterr()
    assert main(["run", path]) == 0
    printed = capsys.readouterr()
    assert "[clicks] was not run" in printed.err
    assert "dphist stream --config release.toml --section clicks < EVENTS" in printed.err
    assert "[clicks]" not in printed.out
    assert Path("ages.json").exists()
    assert not Path("s.state").exists()
    for text, more in ((CLICKS, []), (CLICKS + AGES, ["--section", "clicks"])):
        assert main(["run", write(text), *more]) == 2, "nothing is left to run"
        assert "--section clicks < EVENTS" in capsys.readouterr().err


def test_a_stream_is_checked_and_added_up_with_the_others(write, capsys) -> None:
    path = write(AGES + CLICKS.replace("epsilon = 1", "epsilon = 0"))
    assert main(["run", path]) == 2
    assert "[clicks]: epsilon must be greater than 0" in capsys.readouterr().err
    paid = AGES.replace('user = "patient"', 'user = "patient"\nunit = "one user"')
    text = '[defaults]\nledger = "l.ledger"\nby = "ana"\n'
    text += paid.replace("[ages]", '[ages]\nkey = "ages-1"').replace('"1/2"', '"0.5"')
    users = 'horizon = 9\nformat = "csv"\nuser = "u"\nmax-events-per-user = 2\nkey = "clicks-1"'
    text += CLICKS.replace("horizon = 9", users)
    ledger("1.2")  # each of the two fits by itself
    assert main(["run", write(text)]) == 3
    assert "[clicks] would not fit after the releases before it" in capsys.readouterr().err
    assert not Path("ages.json").exists()
    less = text.replace("epsilon = 1\n", "epsilon = 0.3\n").replace('"0.5"', '"0.05"')
    assert main(["run", write(less)]) == 0
    assert Path("ages.json").exists()


def ledger(epsilon: str) -> None:
    unit = ["--unit", "one user"]
    assert (
        main(["ledger", "create", "l.ledger", "--epsilon", epsilon, "--delta", "1e-5", *unit]) == 0
    )


PAID = """
[defaults]
ledger = "l.ledger"
by = "ana"
user = "patient"
"""


def paid() -> str:
    both = (GENES + AGES).replace('user = "patient"\n', "")
    both = both.replace("[genes]", '[genes]\nkey = "genes-1"')
    return PAID + both.replace("[ages]", '[ages]\nkey = "ages-1"').replace('"1/2"', '"0.5"')


@pytest.mark.verify
def test_several_releases_against_one_ledger(write, capsys) -> None:
    path = write(paid())
    ledger("4")
    assert main(["run", path]) == 0
    assert "Charged to 'main'" in capsys.readouterr().out
    for name in ("genes", "ages"):
        release = dh.Release.load(f"{name}.json")
        assert release.provenance["configuration"] == digest(path)
        assert "entry" in release.provenance
    # The same configuration again returns the same releases, at no cost.
    before = Path("genes.json").read_text()
    assert main(["run", path, "--overwrite"]) == 6
    assert "nothing was charged" in capsys.readouterr().out
    assert json.loads(before)["value"] == json.loads(Path("genes.json").read_text())["value"]
    assert dh.Release.load("genes.json").provenance["configuration"] == digest(path)


def test_what_does_not_fit_together_is_refused_before_the_first_charge(write, capsys) -> None:
    path = write(paid())
    ledger("2.2")  # each of the two fits by itself
    assert main(["run", path]) == 3
    assert "[ages] would not fit after the releases before it" in capsys.readouterr().err
    assert not Path("genes.json").exists()
    assert main(["ledger", "log", "l.ledger"]) == 0
    assert "genes-1" not in capsys.readouterr().out


def test_an_error_of_the_ledger_s_unit_names_the_section_and_its_key(write, capsys) -> None:
    path = write(paid())
    bounds = ["--epsilon", "4", "--delta", "1e-5", "--unit", "one customer"]
    assert main(["ledger", "create", "l.ledger", *bounds]) == 0
    capsys.readouterr()
    assert main(["run", path]) == 1
    error = capsys.readouterr().err
    assert error.startswith("dphist: release.toml: [genes]: ")
    assert 'unit = "one customer"' in error


def test_a_ledger_written_in_two_ways_is_added_up_as_one(write, capsys) -> None:
    here, same = 'ledger = "l.ledger"\n', 'ledger = "./l.ledger"\n'
    text = paid().replace(here, "").replace("[genes]\n", f"[genes]\n{here}")
    path = write(text.replace("[ages]\n", f"[ages]\n{same}"))
    ledger("2.2")
    assert main(["run", path]) == 3
    assert "[ages] would not fit after the releases before it" in capsys.readouterr().err
    assert not Path("genes.json").exists()


def test_sections_that_share_a_key_are_refused_before_the_first_charge(write, capsys) -> None:
    path = write(paid().replace("ages-1", "genes-1"))
    ledger("4")
    assert main(["run", path]) == 2
    error = capsys.readouterr().err
    assert "[ages] has the key 'genes-1' of [genes]" in error
    assert main(["ledger", "log", "l.ledger"]) == 0
    assert "genes-1" not in capsys.readouterr().out


@pytest.mark.verify
def test_a_key_that_was_charged_and_never_finished_is_refused_before_the_first(
    write, capsys
) -> None:
    path = write(paid())
    ledger("4")
    Path("bad.csv").write_text("patient,gene,age\np1,g1,SENTINEL\n")
    Path("bad.toml").write_text(paid().replace("rows.csv", "bad.csv"))
    assert main(["run", "bad.toml", "--section", "ages"]) != 0
    capsys.readouterr()
    assert main(["run", path]) == 7
    assert "[ages]: the key 'ages-1' was charged" in capsys.readouterr().err
    assert not Path("genes.json").exists()


def test_sections_may_only_set_their_cost_aside(write, capsys) -> None:
    path = write(paid().replace("[ages]\n", "[ages]\nreserve = true\n"))
    ledger("4")
    assert main(["run", path, "--section", "ages"]) == 0
    assert "Reserved for the key 'ages-1'" in capsys.readouterr().out
    assert not Path("ages.json").exists()


def test_a_key_that_was_canceled_counts_as_a_new_one(write, capsys) -> None:
    path = write(paid())
    ledger("2.2")  # each of the two fits by itself
    with dh.Ledger.open("l.ledger") as opened:
        mechanism = dh.ThresholdHistogram(epsilon="0.5", delta="1e-6", max_labels=2)
        data = dh.LabelCounts.from_table("rows.csv", label="gene", user="patient", max_labels=2)
        opened.reserve(mechanism, data=data, by="ana", key="genes-1")
        opened.cancel("genes-1")
    assert main(["run", path]) == 3
    assert "[ages] would not fit after the releases before it" in capsys.readouterr().err
    assert not Path("genes.json").exists()


@pytest.mark.parametrize("place", ["other.csv", "release.toml", "./other.csv"])
def test_no_section_writes_to_what_is_read(place, write, capsys) -> None:
    Path("other.csv").write_bytes(Path("rows.csv").read_bytes())
    both = GENES.replace("genes.json", place) + AGES.replace("rows.csv", "other.csv")
    path = write(both)
    before = Path(place).read_bytes()
    assert main(["run", path, "--overwrite"]) == 2
    assert f"{place} is an input; writing there would destroy it" in capsys.readouterr().err
    assert Path(place).read_bytes() == before
    assert not Path("ages.json").exists()


def test_a_section_does_not_overwrite_its_configuration(write, capsys) -> None:
    path = write(AGES.replace("ages.json", "release.toml"))
    before = Path(path).read_bytes()
    assert main(["ranges", "--config", path, "--overwrite"]) == 2
    assert "release.toml is an input; writing there would destroy it" in capsys.readouterr().err
    assert Path(path).read_bytes() == before


def test_a_failure_names_the_section_and_what_was_made_before(write, capsys) -> None:
    path = write(GENES + AGES)
    Path("rows.csv").write_text("patient,gene,age\np1,g1,SENTINEL\n")
    assert main(["run", path]) != 0
    error = capsys.readouterr().err
    assert "release.toml: [ages]: " in error
    assert "made before it: [genes]" in error
    assert "SENTINEL" not in error
