"""A data set described once: what the file says holds, and a program may only ask for less."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.report import report_html

FACTS = """files = "visits.csv"
user = "patient"
unit = "one patient"
max_labels = 2
max_count = 3
max_records = 4
max_rows = 2
"""
KEYS = {"drug": ["a", "b", "c"]}
CALLS: list[tuple[str, Any, str, int]] = [
    ("labels", "drug", "max_labels", 2),
    ("labels", "drug", "max_count", 3),
    ("profile", "drug", "max_records", 4),
    ("tables", KEYS, "max_rows", 2),
    ("bins", "age", "max_records", 4),
    ("regions", "drug", "max_records", 4),
    ("groups", KEYS, "max_rows", 2),
]
OTHERS: dict[str, dict[str, Any]] = {
    "bins": {"edges": [0, 50, 100]},
    "regions": {"region": "ward", "regions": {"top": ["w"]}},
    "groups": {"column": "age", "bins": [0, 50, 100]},
}


def method_of(clinic: dh.Dataset, name: str) -> Any:
    """Return a method with what it needs beside what is counted."""
    return partial(getattr(clinic, name), **OTHERS.get(name, {}))


def describe(folder: Path, facts: str = FACTS, rows: str = "1,a\n1,b\n1,c\n2,a\n") -> dh.Dataset:
    lines = "".join(f"{row},20,w\n" for row in rows.splitlines())
    (folder / "visits.csv").write_text("patient,drug,age,ward\n" + lines)
    (folder / "clinic.toml").write_text(facts)
    return dh.Dataset.open(folder / "clinic.toml")


def test_facts_of_the_file_are_used(tmp_path: Path) -> None:
    clinic = describe(tmp_path)
    labels = clinic.labels("drug")
    assert (labels.max_labels, labels.max_count) == (2, 3)
    assert labels.unit == dh.PrivacyUnit("one patient")
    assert sum(labels.counts_of(["a", "b", "c"])) == 3
    assert clinic.profile("drug").sensitivity == 4
    assert clinic.tables(KEYS).max_rows == 2
    for method, what, bound, most in CALLS[4:]:
        counts = method_of(clinic, method)(what)
        held = counts.cells.max_rows if method == "groups" else counts.sensitivity
        assert held == most, bound
        assert (counts.cells if method == "groups" else counts).unit == labels.unit


@pytest.mark.parametrize("stated", ["drop", "separate"])
def test_groups_refuse_rows_without_a_user(tmp_path, stated) -> None:
    clinic = describe(tmp_path, FACTS + f'null_users = "{stated}"')
    with pytest.raises(dh.ParameterError, match=f'null_users must be "refuse" .*"{stated}"'):
        method_of(clinic, "groups")(KEYS)


@pytest.mark.parametrize(("method", "what", "bound", "most"), CALLS)
def test_a_bound_may_only_be_smaller(tmp_path, method, what, bound, most) -> None:
    count = method_of(describe(tmp_path), method)
    count(what, **{bound: most})
    count(what, **{bound: most - 1})
    with pytest.raises(dh.ParameterError, match=rf"{bound} must be at most {most}.*clinic.toml"):
        count(what, **{bound: most + 1})
    for wrong in (0, -1, True, 1.5, "1"):
        with pytest.raises(dh.ParameterError, match=bound):
            count(what, **{bound: wrong})


@pytest.mark.parametrize(("method", "what", "bound", "most"), CALLS)
def test_a_bound_that_the_file_leaves_out(tmp_path, method, what, bound, most) -> None:
    lines = [line for line in FACTS.splitlines() if not line.startswith(bound)]
    count = method_of(describe(tmp_path, "\n".join(lines)), method)
    if bound == "max_count":  # 1 is the default, and the largest
        assert count(what).max_count == 1
        with pytest.raises(dh.ParameterError, match="max_count must be at most 1, unless"):
            count(what, max_count=2)
        return
    with pytest.raises(dh.ParameterError, match=f"{bound} must be given, or stand in"):
        count(what)
    count(what, **{bound: most + 7})


@pytest.mark.parametrize("stated", ["refuse", "drop", "separate"])
@pytest.mark.parametrize("asked", ["refuse", "drop", "separate"])
@pytest.mark.parametrize(("method", "what"), [(m, w) for m, w, _, _ in CALLS[1:-1]])
def test_null_users_may_only_be_stricter(tmp_path, stated, asked, method, what) -> None:
    count = method_of(describe(tmp_path, FACTS + f'null_users = "{stated}"'), method)
    if asked == stated or (stated, asked) == ("separate", "drop"):
        count(what, null_users=asked)
    else:
        with pytest.raises(dh.ParameterError, match=r"null_users must be .* as .*clinic.toml"):
            count(what, null_users=asked)


def test_null_users_are_those_of_the_file(tmp_path: Path) -> None:
    rows = "1,a\n,b\n"
    dropped = describe(tmp_path, FACTS + 'null_users = "drop"', rows).labels("drug")
    assert dropped.counts_of(["a", "b"]) == [1, 0]
    with pytest.raises(dh.DataError):
        describe(tmp_path, FACTS, rows).labels("drug")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            FACTS + "max_lables = 3",
            "max_lables is not a key of a data set; did you mean max_labels",
        ),
        (FACTS + "epsilon = 1", "epsilon is not a key of a data set; it may have files, user"),
        ('user = "patient"', "files is missing: add files"),
        ('files = "visits.csv"', "user is missing: add user"),
        ("files = []\nuser = 'patient'", "files must be a path"),
        ("files = ['a.csv', 1]\nuser = 'patient'", "files must be a path"),
        ("files = 'a.csv'\nuser = 1.5", "user must be text"),
        ("files = 'a.csv'\nuser = ''", "user must be text"),
        ("files = 'a.csv'\nuser = 'u'\nunit = 1", "unit must be text"),
        ("files = 'a.csv'\nuser = 'u'\nledger = []", "ledger must be text"),
        ("files = 'a.csv'\nuser = 'u'\nmax_rows = 1.0", "max_rows must be a whole number"),
        ("files = 'a.csv'\nuser = 'u'\nmax_rows = 0", "max_rows must be at least 1"),
        ("files = 'a.csv'\nuser = 'u'\nmax_rows = true", "max_rows must be a whole number"),
        ("files = 'a.csv'\nuser = 'u'\nnull_users = 'keep'", 'null_users must be "refuse", "drop"'),
    ],
)
def test_a_wrong_key_is_named(tmp_path, facts, says) -> None:
    with pytest.raises(dh.ParameterError) as caught:
        describe(tmp_path, facts)
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "clinic.toml"))


@pytest.mark.parametrize("content", [b"files = ", b"\xff", b"user = 'a'\nuser = 'b'", b"#" * 10**7])
def test_what_is_no_description(tmp_path, content) -> None:
    path = tmp_path / "clinic.toml"
    path.write_bytes(content)
    with pytest.raises(dh.InputFileError, match="must be a TOML file"):
        dh.Dataset.open(path)
    with pytest.raises(dh.InputFileError, match="cannot be read"):
        dh.Dataset.open(tmp_path / "none.toml")


def test_no_data_are_read_to_open(tmp_path: Path) -> None:
    described = describe(tmp_path)
    (tmp_path / "visits.csv").unlink()
    assert dh.Dataset.open(described.description.path) == described
    with pytest.raises(dh.ParameterError):  # a parameter is refused before data are read
        described.labels("drug", max_labels=3)


def test_only_the_ledger_of_the_file_releases(tmp_path: Path) -> None:
    made = dh.Ledger.create(tmp_path / "a.ledger", epsilon=2, delta="1e-5", unit="one patient")
    clinic = describe(tmp_path, FACTS + 'ledger = "a.ledger"')
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2, max_count=3)
    counts = clinic.labels("drug")
    with pytest.raises(dh.LedgerError):
        mechanism.release(counts)
    ledger = clinic.ledger()
    release = ledger.release(mechanism, counts, by="ann", key="one", description=clinic.digest)
    assert release.provenance["description"] == clinic.digest
    assert clinic.ledger().id == made.id
    for method, what, _, _ in CALLS:
        assert "ledger" in repr(method_of(clinic, method)(what)).lower()


def test_without_a_ledger_none_is_opened(tmp_path: Path) -> None:
    with pytest.raises(dh.ParameterError, match=r"ledger is not in .*clinic\.toml"):
        describe(tmp_path).ledger()


def test_the_digest_is_of_the_facts(tmp_path: Path) -> None:
    one = describe(tmp_path)
    lines = FACTS.splitlines()
    same = describe(tmp_path, "# a note\n" + "\n".join(reversed(lines)), rows="7,c\n")
    assert one.digest == same.digest
    assert one.digest != describe(tmp_path, FACTS.replace("max_rows = 2", "max_rows = 3")).digest


def test_several_files_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("patient,drug,age,ward\n3,a,20,w\n")
    facts = FACTS.replace('"visits.csv"', '["visits.csv", "more.csv"]')
    assert describe(tmp_path, facts, "2,a\n").labels("drug").counts_of(["a"]) == [2]


def test_a_release_names_a_description(tmp_path: Path) -> None:
    clinic = describe(tmp_path)
    release = dh.Tables(epsilon=1, keys=KEYS, tables=[("drug",)], max_rows=2).release(
        clinic.tables(KEYS)
    )
    named = release.configured(description=clinic.digest)
    assert named.provenance == {**release.provenance, "description": clinic.digest}
    assert clinic.digest in report_html(named)
    named.save(tmp_path / "r.json")
    assert dh.Release.load(tmp_path / "r.json").provenance == named.provenance
    evil = release.configured(description="<script>\x1b[2J" + "x" * 999)
    assert "<script>\x1b" not in report_html(evil)
    assert "x" * 99 not in report_html(evil)
