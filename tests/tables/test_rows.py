"""One row of a user for each value of a key, and rows without a user: parameters and surfaces."""

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.errors import BoundsError, DphistError, LedgerError, ParameterError, UnsupportedError
from dphist.privacy import PrivacyUnit
from dphist.release.document import checksum
from dphist.report import report_html, summary_text
from dphist.tables import KeyedCounts, Tables

KEYS: Mapping[str, Any] = {"day": [1, 2, 3], "place": ["a", "b"]}
GIVEN: Mapping[str, Any] = {"keys": KEYS, "tables": ["day+place"], "max_rows": 2}


def rows(users: int = 50) -> pd.DataFrame:
    draw = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "who": [f"u{n}" for n in draw.integers(0, users, 400)],
            "day": draw.integers(1, 4, 400),
            "place": draw.choice(["a", "b"], 400),
        }
    )


def counted(**more: Any) -> KeyedCounts:
    told: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 2, "one_row_per": "day"}
    return KeyedCounts.from_table(rows(), **told | more)


def made(**more: Any) -> Tables:
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "one_row_per": "day"}
    return Tables(**GIVEN, **given | more)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no text": ({"one_row_per": ["day"]}, "one_row_per must name a key"),
    "empty": ({"one_row_per": ""}, "one_row_per must name a key"),
    "unknown": ({"one_row_per": "hour"}, "one_row_per must name one of the keys: 'hour' is none"),
    "bins": ({"one_row_per": "age"}, "one_row_per must name a key whose values are listed: 'age'"),
    "other": ({"one_row_per": "kind"}, 'one_row_per must name a key without a value "other"'),
    "too many": ({"max_rows": 4}, "max_rows must be at most 3, the number of values of 'day'"),
    "found": (
        {"keys": {"day": [1, 2, 3], "drug": dh.DiscoverKeys(share=".3")}},
        "one_row_per must be left out where values are found, as those of 'drug'",
    ),
}
MORE: Mapping[str, Any] = {
    **KEYS,
    "age": dh.Axis.regular(0, 90, 30),
    "kind": {"values": ["x"], "other": True},
}


@pytest.mark.parametrize("name", BAD)
def test_a_key_that_cannot_be_is_refused_before_data_are_read(name: str) -> None:
    changed, said = BAD[name]
    given: dict[str, Any] = {"keys": MORE, "max_rows": 2, "one_row_per": "day", **changed}
    missing, cells = pd.DataFrame({"x": [1]}), np.ones((3, 2, 3, 2), int)
    calls = [
        lambda: Tables(rho=1, delta="1e-6" if name == "found" else None, tables=["day"], **given),
        lambda: KeyedCounts.from_table(missing, user="who", **given),
    ]
    if name != "found":  # which have no parts, and no counts of cells
        calls += [
            lambda: KeyedCounts.partial(missing, user="who", part=0, parts=1, **given),
            lambda: KeyedCounts.from_counts(cells, **given),
        ]
    for call in calls:
        with pytest.raises(ParameterError) as caught:
            call()
        assert said in str(caught.value)


WITHOUT: dict[str, tuple[dict[str, Any], str]] = {
    "pure": ({"delta": None}, "one_row_per must be left out without a delta"),
    "zero": ({"delta": 0}, "one_row_per must be left out without a delta"),
    "ranges": ({"ranges": ["place"]}, "one_row_per and ranges must not both be given"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_tables_without_a_price_of_such_rows_are_refused(name: str) -> None:
    changed, said = WITHOUT[name]
    with pytest.raises(ParameterError, match=said):
        made(**changed)


def test_more_keys_than_there_are_patterns_for_are_refused() -> None:
    keys = {f"k{i}": [0, 1] for i in range(15)}
    given: dict[str, Any] = {"rho": 1, "keys": keys, "tables": ["k0+k1"], "max_rows": 2}
    with pytest.raises(ParameterError, match="one_row_per must be left out with more than 14 keys"):
        Tables(**given, one_row_per="k0")
    fewer = Tables(**{**given, "keys": {**keys, "k14": [0]}}, one_row_per="k0")
    assert fewer.rows_cost < 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"count": "n"}, "one_row_per needs user"),
        ({}, "one_row_per needs user"),
        ({"user": "who", "max_rows": 1, "count": "n"}, "one_row_per and count must not both"),
    ],
)
def test_rows_of_users_alone_differ(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        KeyedCounts.from_table(pd.DataFrame({"x": [1]}), keys=KEYS, one_row_per="day", **given)


def test_counts_say_how_they_were_bounded() -> None:
    counts = counted(null_users="separate", unit="one patient")
    assert "one_row_per='day'" in repr(counts)
    again = pickle.loads(pickle.dumps(counts))  # noqa: S301
    assert again == counts
    assert (again.one_row_per, again.null_users) == ("day", "separate")
    assert counts != counted(null_users="separate", unit="one patient", one_row_per=None)
    assert KeyedCounts.from_counts(np.ones((3, 2), int), keys=KEYS, one_row_per="day").unit == (
        PrivacyUnit("user")
    )
    with pytest.raises(ParameterError, match="unit must say whose rows differ"):
        KeyedCounts(counts.keys, counts.cells, counts.counts, 2, one_row_per="day")


def test_a_release_says_so_everywhere(tmp_path: Path) -> None:
    release = made().release(counted(unit="one patient"))
    assert release.guarantee.unit == PrivacyUnit("patient")
    assert release.provenance["one_row_per"] == "day"
    page, text = (" ".join(each(release).split()) for each in (report_html, summary_text))
    for said in (page, text):
        assert "one for each day" in said
        assert "at most, of one protected unit, and 2 in all" in said
        assert "about 3 times what one does, and " in said
        assert "that may be alike 4 times" in said
        assert "one patient, who counts with up to 2 records" in said
    assert "For each value of day one record of each counts at most" in page
    release.save(tmp_path / "release.json")
    again = dh.Release.load(tmp_path / "release.json")
    assert again == release
    assert again.mechanism.rows_cost == made().rows_cost


def test_counts_bounded_so_are_said_to_be_where_the_mechanism_does_not_know_it() -> None:
    """Counts are of days on which a user came, whatever the noise is for."""
    release = made(one_row_per=None).release(counted())
    for said in (" ".join(each(release).split()) for each in (report_html, summary_text)):
        assert "one for each day" in said
        assert "noise for records that may be alike" in said
    alike = made(one_row_per=None).release(counted(one_row_per=None))
    assert "one for each" not in report_html(alike)


def test_tables_of_before_have_no_such_parameter(tmp_path: Path) -> None:
    release = made(one_row_per=None).release(counted())
    content = json.loads(release.to_json())
    del content["mechanism"]["parameters"]["one_row_per"], content["checksum"]
    content["checksum"] = checksum(content)
    (tmp_path / "old.json").write_text(json.dumps(content))
    again = dh.Release.load(tmp_path / "old.json")
    assert again.mechanism == release.mechanism


def test_nothing_is_charged_for_data_that_were_bounded_otherwise(tmp_path: Path) -> None:
    with dh.Ledger.create(tmp_path / "ledger", epsilon=3, delta="1e-5", unit="user") as ledger:
        for counts in (counted(one_row_per=None), counted(one_row_per="place")):
            with pytest.raises(BoundsError, match="one_row_per='day'"):
                ledger.release(made(), counts, by="me", key="k")
        ledger.release(made(), counted(), by="me", key="k")
    records = dh.Ledger.create(tmp_path / "records", epsilon=3, delta="1e-5", unit="record")
    with records, pytest.raises(LedgerError, match="the release protects one user"):
        records.release(made(), counted(), by="me", key="k")


def test_a_group_of_records_is_not_what_is_protected() -> None:
    """Two records that may be alike cost more than the release states: it makes no such claim."""
    with pytest.raises(DphistError):
        made().guarantee.for_unit(PrivacyUnit("record", 2))
    assert made(one_row_per=None).guarantee.for_unit(PrivacyUnit("record", 2))


def test_plans_and_searches_know_the_price() -> None:
    sizes = {"day": 3, "place": 2}
    asked: dict[str, Any] = {"tables": ["day+place"], "epsilon": [1], "delta": "1e-6"}
    (row,) = dh.plan("tables", keys=sizes, max_rows=[2], one_row_per="day", **asked)
    half = 1.96 * made().expected_error()
    assert abs(row["cell_error"] - half) < 0.01 * half
    with pytest.raises(ParameterError, match='without a value "other"'):
        list(dh.plan("tables", keys=sizes, other=["day"], one_row_per="day", **asked))
    with pytest.raises(ParameterError, match="at most 3"):
        list(dh.plan("tables", keys=sizes, max_rows=[4], one_row_per="day", **asked))
    error = made(epsilon=2).expected_error()
    found = dh.for_error(dh.Tables, error=error, delta="1e-6", one_row_per="day", **GIVEN)
    assert found.epsilon is not None
    assert 1.9 < found.epsilon <= 2
    several = dh.calibrate(
        dh.Tables, epsilon=1, delta="1e-6", releases=12, one_row_per="day", **GIVEN
    )
    assert several.rho_of_all < made().rho_of_all / 11


def test_a_difference_needs_the_same_bounds() -> None:
    first, second = (made().release(counted()) for _ in range(2))
    assert len(dh.difference(first, second)) == 6
    alike = made(one_row_per=None).release(counted(one_row_per=None))
    with pytest.raises(ParameterError, match="the same one_row_per"):
        dh.difference(first, alike)


def test_an_audit_of_the_kind_has_no_such_neighbors() -> None:
    with pytest.raises(UnsupportedError, match="are not audited on neighbors of the kind"):
        dh.audit(made())


COMMAND = (
    "--user who --max-rows 2 --one-row-per day --axis day=1,2,3 --axis place=a,b "
    "--tables day+place --epsilon 1 --delta 1e-6"
)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "rows.csv", tmp_path / "release.json"
    rows().to_csv(path, index=False)
    given = ["tables", str(path), *COMMAND.split()]
    assert main([*given, "--dry-run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "one for each day, at most, of one protected unit, and 2 in all." in said
    assert "one user, who counts with up to 2 records" in said
    assert main([*given, "--output", str(output), "--null-users", "separate"]) == 0
    release = dh.Release.load(output)
    assert release.mechanism == made()
    assert release.provenance["null_users"] == "separate"
    assert str(release.guarantee.unit) == "one user, or one row without a user"
    capsys.readouterr()
    for more, named in (
        (["--ranges", "day"], "--ranges"),
        (["--count", "day"], "--count"),
        (["--other", "day"], "--other"),
        (["--max-rows", "4"], "--max-rows"),
    ):
        assert main([*given, *more, "--dry-run"]) != 0
        assert named in capsys.readouterr().err
    alone = ["tables", str(path), "--each-row-is-one-person", *COMMAND.split()[4:]]
    assert main([*alone, "--dry-run"]) != 0
    assert "--one-row-per needs --user" in capsys.readouterr().err


@pytest.mark.parametrize("null_users", ["refuse", "drop", "separate"])
def test_rows_without_a_user_are_treated_as_in_other_kinds(null_users: str) -> None:
    frame = pd.DataFrame({"who": ["u", "u", None, None], "x": ["a", "a", "a", "b"]})
    told: dict[str, Any] = {"keys": {"x": ["a", "b"]}, "user": "who", "max_rows": 1}
    if null_users == "refuse":
        with pytest.raises(DphistError, match="null_users='separate'"):
            KeyedCounts.from_table(frame, **told)
        return
    counts = KeyedCounts.from_table(frame, **told, null_users=null_users)
    alone = null_users == "separate"
    assert counts.sum_over((0,)).tolist() == ([2, 1] if alone else [1, 0])
    assert counts.null_users == null_users
    release = Tables(rho=1, keys=counts.keys, tables=["x"]).release(counts)
    assert release.provenance["null_users"] == null_users
    who = "one user, or one row without a user" if alone else "one user"
    assert str(release.guarantee.unit) == who
    said = "each count as a separate user" if alone else "are dropped"
    assert f"Rows without a user {said}" in " ".join(report_html(release).split())
    parts = [
        KeyedCounts.partial(frame, **told, null_users=null_users, part=k, parts=2) for k in (0, 1)
    ]
    assert KeyedCounts.merge(parts) == counts
    found = {"keys": {"x": dh.DiscoverKeys(share=".3")}, "null_users": null_users}
    labels = KeyedCounts.from_table(frame, **told | found)
    assert (labels.null_users, labels.counts.sum()) == (null_users, 3 if alone else 1)


def test_rows_without_a_user_need_a_column_of_users() -> None:
    frame = pd.DataFrame({"x": ["a"]})
    with pytest.raises(ParameterError, match="null_users needs user"):
        KeyedCounts.from_table(frame, keys={"x": ["a"]}, null_users="drop")
    with pytest.raises(ParameterError, match="null_users must be"):
        KeyedCounts.from_table(frame, keys={"x": ["a"]}, user="x", max_rows=1, null_users="keep")


def test_counted_rows_without_a_user_are_bounded_each() -> None:
    frame = pd.DataFrame({"who": ["u", None, None], "x": ["a", "a", "b"], "n": [9, 9, 2]})
    told: dict[str, Any] = {"keys": {"x": ["a", "b"]}, "user": "who", "max_rows": 4, "count": "n"}
    counts = KeyedCounts.from_table(frame, **told, null_users="separate")
    assert counts.sum_over((0,)).tolist() == [8, 2]
