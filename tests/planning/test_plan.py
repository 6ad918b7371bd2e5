"""A plan: every number is one that a mechanism of the setting states, and no data are read."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.planning.declared import count_guessers, find_columns
from dphist.planning.document import make_document
from dphist.render.text import text
from tests.support.planning.told import MADE

LABELS: dict[str, Any] = {
    "epsilon": ["0.5", 2],
    "max_labels": [1, 10],
    "max_count": [1, 3],
    "delta": "1e-6",
}


def test_a_row_for_each_combination() -> None:
    plan = dh.plan("labels", **LABELS)
    found = {(row["epsilon"], row["max_labels"], row["max_count"]) for row in plan}
    assert found == set(itertools.product([Fraction(1, 2), 2], [1, 10], [1, 3]))
    assert len(plan) == len(plan.rows) == 8
    assert set(plan.columns) <= set(find_columns("labels"))
    errors = [row["appears_from"] for row in plan if row["max_labels"] == row["max_count"] == 1]
    assert errors == sorted(errors, reverse=True), "more epsilon, less error"


def test_the_delta_follows_from_the_public_number_of_users() -> None:
    assert dh.plan("labels", epsilon=1, max_labels=1).column("delta") == [Fraction(1, 10**6)]
    (row,) = dh.plan("labels", epsilon=1, max_labels=1, users=30_000)
    assert row["delta"] == Fraction(3, 10**7)
    assert row["delta"] * 30_000 <= Fraction(1, 100)


@pytest.mark.parametrize("delta", ["0", "1e-6", "0.25"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3.2", "29", "31"])
def test_guesses_are_bounded_as_tests_of_a_hypothesis_are(epsilon: str, delta: str) -> None:
    """The best of all rules, against the hardest pair of outputs there is: randomized response."""
    found = count_guessers(Fraction(epsilon), Fraction(delta))
    odds = math.exp(float(epsilon))
    kept = 1 - float(delta)
    pair = [(float(delta), 0.0), (kept * odds / (1 + odds), kept / (1 + odds))]
    pair += [(kept / (1 + odds), kept * odds / (1 + odds)), (0.0, float(delta))]
    best = sum(max(one, other) for one, other in pair) / 2
    assert 100 * best <= found + 1e-9
    assert found <= 100 * best + 1 or found == 100


@pytest.mark.verify
def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    for plan in (make() for make in MADE.values()):
        plan.save(tmp_path / "plan.json")
        again = dh.Plan.load(tmp_path / "plan.json")
        assert again.to_json() == plan.to_json()
        assert again.rows == plan.rows
        assert again.criteria == plan.criteria
        assert again.digest == plan.digest
        assert again.unit == plan.unit


def test_names_of_version_0_2_are_read(tmp_path: Path) -> None:
    """Its plans keep their checksums: somebody noted them down."""
    asked: dict[str, Any] = {"horizon": 90, "epsilon": 1, "delta": "1e-6"}
    made = dh.plan("stream", **asked)
    assert made.kind == "streams"
    assert made.digest == dh.plan("streams", **asked).digest
    old = replace(made, kind="stream")
    old.save(tmp_path / "plan.json")
    again = dh.Plan.load(tmp_path / "plan.json")
    assert again.digest == old.digest != made.digest
    assert again.to_pandas().equals(made.to_pandas())
    assert (
        text(make_document(again)).splitlines()[:-1] == text(make_document(made)).splitlines()[:-1]
    )


def test_a_changed_plan_is_refused(tmp_path: Path) -> None:
    text = dh.plan("anonymized", epsilon=1, total=100, criteria=["epsilon <= 1"]).to_json()
    weaker = text.replace("epsilon <= 1", "epsilon <= 9")
    with pytest.raises(dh.ReleaseFileError, match="changed after it was written"):
        dh.Plan.from_json(weaker)
    for wrong in ("", "[]", "{}", text[:40]):
        with pytest.raises(dh.ReleaseFileError, match="not a dphist plan"):
            dh.Plan.from_json(wrong)
    later = json.dumps({**json.loads(text), "format_version": 2})
    with pytest.raises(dh.ReleaseFileError, match="later version"):
        dh.Plan.from_json(later)
    with pytest.raises(dh.ReleaseFileError, match="cannot be read as a plan"):
        dh.Plan.load(tmp_path / "none.json")


def test_tables() -> None:
    plan = dh.plan("labels", epsilon=["0.5", 1], max_labels=2, delta="1e-6", users=100)
    frame = plan.to_pandas()
    assert list(frame.columns) == list(plan.columns)
    assert frame["epsilon"].tolist() == [0.5, 1.0]
    assert frame["appears_from"].tolist() == plan.column("appears_from")
    assert plan.to_polars()["noise"].to_list() == plan.column("noise")
    assert repr(plan) == "Plan('labels', 2 settings)"
    with pytest.raises(dh.ParameterError, match="name must be one of"):
        plan.column("nothing")


@pytest.mark.parametrize(
    ("kind", "asked", "message"),
    [
        ("label", {}, "kind must be one of anonymized, ranges, labels, tables, groups, streams"),
        ("labels", {"bins": 3}, "bins is not for a plan of labels; it takes epsilon, delta"),
        ("labels", {"users_by_totals": True}, "'dphist labels --dry-run' states the errors with"),
        ("ranges", {"bins": 3}, "total must be given for a plan of ranges: a public number"),
        ("ranges", {}, "bins and total must be given"),
        ("streams", {}, "horizon must be given"),
        ("labels", {"epsilon": 0}, "epsilon must be greater than 0"),
        ("labels", {"epsilon": []}, "epsilon must have at least one value"),
        ("labels", {"epsilon": [1, 1]}, "epsilon must have each value once"),
        ("labels", {"max_labels": 0}, "max_labels must be at least 1"),
        ("labels", {"delta": 0}, "delta must be above 0"),
        ("labels", {"users": 0}, "users must be at least 1"),
        ("labels", {"labels": 0}, "labels must be at least 1"),
        ("labels", {"labels": ["a", "a"]}, "labels must list at least one label, each once"),
        ("labels", {"correlated": True}, "correlated needs labels"),
        ("labels", {"sums_of": 2}, "sums_of needs labels"),
        ("labels", {"labels": 3, "sums_of": 4}, "sums_of must be"),
        ("labels", {"labels": 3, "correlated": "auto"}, "correlated must be True or False"),
        ("ranges", {"bins": 3, "total": 0}, "total must be at least 1"),
        ("labels", {"max_labels": list(range(1, 300))}, "at most 1,000 settings"),
        ("labels", {"criteria": ["range error < 3"]}, "releases of labels have no range error"),
        ("labels", {"unit": ""}, "unit"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    kind: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(dh.ParameterError, match=message):
        dh.plan(kind, **asked)
