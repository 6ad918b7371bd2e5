"""A plan: every number is one that a mechanism of the setting states, and no data are read."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.planning.columns import COLUMNS
from dphist.planning.odds import guessed_right

LABELS: dict[str, Any] = {
    "epsilon": ["0.5", 2],
    "max_labels": [1, 10],
    "max_count": [1, 3],
    "delta": "1e-6",
}


def made_by_hand(kind: str, row: dict[str, Any], asked: dict[str, Any]) -> Any:
    """Return the mechanism of a setting, not through the plan."""
    total = {"epsilon": row["epsilon"], "delta": row.get("delta", 0)}
    if kind == "labels":
        bounds = {name: row[name] for name in ("max_labels", "max_count", "noise")}
        listed: dict[str, Any] = {}
        if "labels" in asked:
            number = asked["labels"] if isinstance(asked["labels"], int) else len(asked["labels"])
            listed = {"labels": [f"l{n}" for n in range(number)]}
            listed |= {"sums_of": asked["sums_of"]} if "sums_of" in asked else {}
            if asked.get("correlated") and row["noise"] == "gaussian":
                listed["correlated"] = "auto"
        return dh.calibrate(dh.ThresholdHistogram, **total, **bounds, **listed)
    if kind == "stream":
        return dh.calibrate(
            dh.ContinualMechanism,
            **total,
            horizon=asked["horizon"],
            max_labels=row["max_labels"],
            max_events_per_user=row["max_events"],
        )
    if kind == "ranges":
        return dh.AdaptiveTree(
            epsilon=row["epsilon"],
            bins=asked["bins"],
            sensitivity=row["sensitivity"],
            workload=asked.get("workload", "ranges"),
            expected_total=asked["total"] if row.get("total_given") else None,
        )
    return dh.AdaptiveScan(epsilon=row["epsilon"], sensitivity=row["sensitivity"])


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "labels": ("labels", {**LABELS, "users": 5000}),
    "known labels": ("labels", {**LABELS, "users": 5000, "labels": ["a", "b", "c"]}),
    "pure": ("labels", {**LABELS, "delta": 0, "labels": 12}),
    "shared noise": (
        "labels",
        {"delta": "1e-6", "max_labels": [2, 30], "labels": 40, "correlated": True, "sums_of": 3},
    ),
    "ranges": ("ranges", {"epsilon": ["0.2", 1], "bins": 64, "total": 9000, "sensitivity": [1, 4]}),
    "prefixes": (
        "ranges",
        {"epsilon": ["0.1", 1], "bins": 64, "total": 9000, "workload": "prefix"},
    ),
    "small map": ("ranges", {"epsilon": ["0.1", 1], "bins": (8, 16), "total": 9000}),
    "map": ("ranges", {"epsilon": 1, "bins": (8, 16), "total": 9000}),
    "anonymized": ("anonymized", {"epsilon": [1, 4], "total": 3000}),
    "stream": (
        "stream",
        {"epsilon": 1, "horizon": 500, "delta": "1e-6", "max_labels": [1, 2], "max_events": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick(every=5)
def test_every_number_is_the_library_s_own(case: str) -> None:
    kind, asked = CASES[case]
    plan = dh.plan(kind, **asked)
    for row in plan:
        made, name = made_by_hand(kind, row, asked), None
        delta = row.get("delta", 0)
        assert made.epsilon_at(delta) <= row["epsilon"], "it costs no more than is stated"
        assert row["guessed_right"] == guessed_right(row["epsilon"], Fraction(delta))
        if kind in ("labels", "stream"):
            expected = made.expected_error()
            assert (row.get("appears_from"), row["half_width"]) == (
                expected.appears_from,
                expected.half_width,
            )
            assert row.get("correlated", False) == getattr(made, "correlated", False)
            assert row.get("sum_error") == (made.spread if "sums_of" in asked else None)
        elif asked.get("workload") == "prefix":
            name = "prefix_error"
            assert row[name] == made.expected_error(asked["total"], prefixes=True)
            assert "range_error" not in row
        else:
            name = {"ranges": "range_error", "anonymized": "profile_error"}[kind]
            assert row[name] == made.expected_error(asked["total"])
        if name is not None:
            assert row["relative_error"] == row[name] / asked["total"]
        if "users" in asked:
            if "appears_from" in row:
                assert row["share_of_users"] == row["appears_from"] / asked["users"]
            assert row["delta_times_users"] == row["delta"] * asked["users"]


def test_a_row_for_each_combination() -> None:
    plan = dh.plan("labels", **LABELS)
    found = {(row["epsilon"], row["max_labels"], row["max_count"]) for row in plan}
    assert found == set(itertools.product([Fraction(1, 2), 2], [1, 10], [1, 3]))
    assert len(plan) == len(plan.rows) == 8
    assert set(plan.columns) <= set(COLUMNS)
    errors = [row["appears_from"] for row in plan if row["max_labels"] == row["max_count"] == 1]
    assert errors == sorted(errors, reverse=True), "more epsilon, less error"


def test_the_noise_is_the_one_with_the_lower_threshold() -> None:
    for row in dh.plan("labels", epsilon=[1], max_labels=[1, 2, 3, 4, 30], delta="1e-6"):
        thresholds = {
            noise: float(made_by_hand("labels", {**row, "noise": noise}, {}).threshold)
            for noise in ("laplace", "gaussian")
        }
        assert thresholds[row["noise"]] == min(thresholds.values())
    given = dh.plan("labels", epsilon=1, max_labels=30, delta="1e-6", noise="laplace")
    assert given.column("noise") == ["laplace"]


def test_of_a_public_list_only_the_number_counts_and_is_kept() -> None:
    shared: dict[str, Any] = {"epsilon": 1, "max_labels": [1, 5], "delta": "1e-6"}
    by_number, by_list = (
        dh.plan("labels", **shared, labels=labels) for labels in (3, ["x", "y", "z"])
    )
    assert by_number.rows == by_list.rows
    assert by_number.asked["labels"] == by_list.asked["labels"] == 3
    assert "appears_from" not in by_list.columns, "all listed labels are released"
    alone = dh.plan("labels", **shared)
    assert max(by_list.column("half_width")) <= max(alone.column("half_width"))


def test_shared_noise_is_planned_where_it_pays() -> None:
    asked: dict[str, Any] = {"epsilon": 1, "max_labels": [1, 100], "delta": "1e-6", "labels": 100}
    independent, shared = dh.plan("labels", **asked), dh.plan("labels", **asked, correlated=True)
    assert shared.column("correlated") == [False, True]
    assert shared.column("half_width")[0] == independent.column("half_width")[0]
    assert shared.column("half_width")[1] < independent.column("half_width")[1]


def test_a_guess_of_the_total_is_given_where_the_tree_follows_it() -> None:
    """Strengths of 200 to 2,000 of prefixes: docs/ranges.md, What a guess of the total gains."""
    asked: dict[str, Any] = {"epsilon": ["0.01", "0.1", 1], "bins": 64, "total": 9000}
    prefixes = dh.plan("ranges", **asked, workload="prefix")
    assert prefixes.column("total_given") == [False, True, False]
    assert "total_given" not in dh.plan("ranges", **asked).columns


def test_the_delta_follows_from_the_public_number_of_users() -> None:
    assert dh.plan("labels", epsilon=1, max_labels=1).column("delta") == [Fraction(1, 10**6)]
    (row,) = dh.plan("labels", epsilon=1, max_labels=1, users=30_000)
    assert row["delta"] == Fraction(3, 10**7)
    assert row["delta"] * 30_000 <= Fraction(1, 100)


@pytest.mark.parametrize("delta", ["0", "1e-6", "0.25"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3.2", "29", "31"])
def test_guesses_are_bounded_as_tests_of_a_hypothesis_are(epsilon: str, delta: str) -> None:
    """The best of all rules, against the hardest pair of outputs there is: randomized response."""
    found = guessed_right(Fraction(epsilon), Fraction(delta))
    odds = math.exp(float(epsilon))
    kept = 1 - float(delta)
    pair = [(float(delta), 0.0), (kept * odds / (1 + odds), kept / (1 + odds))]
    pair += [(kept / (1 + odds), kept * odds / (1 + odds)), (0.0, float(delta))]
    best = sum(max(one, other) for one, other in pair) / 2
    assert 100 * best <= found + 1e-9
    assert found <= 100 * best + 1 or found == 100


@pytest.mark.verify
def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    for kind, asked in CASES.values():
        plan = dh.plan(kind, **asked, unit="one patient", criteria=["epsilon <= 1", "data: sane"])
        plan.save(tmp_path / "plan.json")
        again = dh.Plan.load(tmp_path / "plan.json")
        assert again.to_json() == plan.to_json()
        assert again.rows == plan.rows
        assert again.criteria == plan.criteria
        assert again.digest == plan.digest
        assert again.unit == dh.PrivacyUnit("patient")


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
        ("label", {}, "kind must be one of labels, ranges, anonymized, stream"),
        ("labels", {"bins": 3}, "bins is not for a plan of labels; it takes epsilon, delta"),
        ("ranges", {"bins": 3}, "total must be given for a plan of ranges: a public number"),
        ("ranges", {}, "bins and total must be given"),
        ("stream", {}, "horizon must be given"),
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
