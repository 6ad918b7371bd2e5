"""Plans of labels state what the mechanism states, and criteria are decided by what it released."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.labels.examples import EXAMPLES
from dphist.planning.declared import count_guessers
from dphist.planning.document import make_document
from dphist.render.text import text
from tests.support.planning.labels import labels_release
from tests.support.planning.verdicts import verdicts

BOUNDS: dict[str, Any] = {
    "epsilon": ["0.5", 2],
    "max_labels": [1, 10],
    "max_count": [1, 3],
    "delta": "1e-6",
    "users": 5000,
}
CASES: dict[str, dict[str, Any]] = {
    "labels": BOUNDS,
    "known labels": {**BOUNDS, "labels": ["a", "b", "c"]},
    "pure": {**BOUNDS, "delta": 0, "labels": 12},
    "shared noise": {
        "delta": "1e-6",
        "max_labels": [2, 30],
        "labels": 40,
        "correlated": True,
        "sums_of": 3,
    },
}


def made_by_hand(row: dict[str, Any], asked: dict[str, Any]) -> Any:
    """Return the mechanism of a setting, not through the plan."""
    bounds = {name: row[name] for name in ("epsilon", "delta", "max_labels", "max_count", "noise")}
    listed: dict[str, Any] = {}
    if "labels" in asked:
        number = asked["labels"] if isinstance(asked["labels"], int) else len(asked["labels"])
        listed = {"labels": [f"l{n}" for n in range(number)]}
        listed |= {"sums_of": asked["sums_of"]} if "sums_of" in asked else {}
        if asked.get("correlated") and row["noise"] == "gaussian":
            listed["correlated"] = "auto"
    return dh.calibrate(dh.ThresholdHistogram, **bounds, **listed)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick(every=2)
def test_every_number_is_the_library_s_own(case: str) -> None:
    asked = CASES[case]
    for row in dh.plan("labels", **asked):
        made, delta = made_by_hand(row, asked), Fraction(row["delta"])
        expected = made.expected_error()
        assert made.epsilon_at(delta) <= row["epsilon"], "it costs no more than is stated"
        assert row["guessed_right"] == count_guessers(row["epsilon"], delta)
        assert (row.get("appears_from"), row["half_width"]) == (
            expected.appears_from,
            expected.half_width,
        )
        assert row.get("correlated", False) == made.correlated
        assert row.get("sum_error") == (made.spread if "sums_of" in asked else None)
        if "users" in asked:
            if "appears_from" in row:
                assert row["share_of_users"] == row["appears_from"] / asked["users"]
            assert row["delta_times_users"] == row["delta"] * asked["users"]


SUMS: dict[str, Any] = {"spent": dh.Clamp(0, 500, "0.01"), "hours": dh.Clamp(-2, 24, 1)}


@pytest.mark.parametrize("labels", [None, 12])
def test_sums_have_a_row_for_each_column_with_the_library_s_own_errors(labels: int | None) -> None:
    asked: dict[str, Any] = {"sums": SUMS, "sums_share": "0.3", "max_labels": [1, 5]}
    listed: dict[str, Any] = {} if labels is None else {"labels": labels}
    made = dh.plan("labels", epsilon=[1, 2], max_count=[1, 3], delta="1e-6", **asked, **listed)
    assert made.column("summed") == ["spent", "hours"] * 8
    for row in made:
        bounds = {name: row[name] for name in ("epsilon", "delta", "max_labels", "max_count")}
        asked_by_hand: dict[str, Any] = {**bounds, "sums": SUMS, "sums_share": "0.3"}
        if labels is not None:
            asked_by_hand["labels"] = [f"l{n}" for n in range(labels)]
        mechanism = dh.calibrate(dh.ThresholdHistogram, noise=row["noise"], **asked_by_hand)
        answers: Any = mechanism.sum_answers[row["summed"]]
        assert row["half_width"] == mechanism.expected_error().half_width
        assert row["sum_half_width"] == answers.sum_reach(0.95)
        means = answers.mean_reach(100, 0.95) if row["max_count"] == 1 else None
        assert row["mean_half_width"] == means


def test_a_plan_with_sums_is_saved_and_says_which_columns(tmp_path: Path) -> None:
    made = dh.plan("labels", epsilon=1, max_labels=3, max_count=[1, 2], delta="1e-6", sums=SUMS)
    assert made.asked["sums"] == [["spent", "0", "500", "0.01"], ["hours", "-2", "24", "1"]]
    made.save(tmp_path / "plan.json")
    assert dh.Plan.load(tmp_path / "plan.json") == made
    shown = text(make_document(made))
    assert "--sum spent=0:500:0.01 --sum hours=-2:24:1" in shown
    assert "beyond the bounds of its column" in " ".join(shown.split())
    typed = ["plan", "labels", "--epsilon", "1", "--max-labels", "3", "--max-count", "1,2"]
    typed += ["--delta", "1e-6", "--sum", "spent=0:500:0.01", "--sum", "hours=-2:24:1"]
    assert main([*typed, "--output", str(tmp_path / "typed.json"), "--quiet"]) == 0
    assert dh.Plan.load(tmp_path / "typed.json").rows == made.rows


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"sums": {"x": 3}}, "sums must name columns with their clamps"),
        ({"sums": {"x\n": dh.Clamp(0, 1, 1)}}, "sums must name columns of one line"),
        ({"sums_share": "0.5"}, "sums_share needs sums"),
        ({"sums": SUMS, "sums_share": 1}, "sums_share must be"),
    ],
)
def test_bad_sums_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        dh.plan("labels", epsilon=1, **asked)


def test_the_noise_is_the_one_that_shows_labels_from_the_least_count_on() -> None:
    for row in dh.plan("labels", epsilon=[1], max_labels=[1, 4, 30], delta="1e-6"):
        appears = {
            noise: made_by_hand({**row, "noise": noise}, {}).likely_count(0.95)
            for noise in ("laplace", "truncated", "optimal", "gaussian")
        }
        assert appears[row["noise"]] == min(appears.values()) == row["appears_from"]
        del appears[row["noise"]]
        noise, count = row["next_noise"].split()
        assert appears[noise] == int(count.replace(",", "")) == min(appears.values())
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


def test_labels() -> None:
    release = labels_release()
    expected = release.mechanism.expected_error()
    smallest = int(min(release.value.counts))
    share = 100 * expected.half_width / smallest
    found = verdicts(
        release,
        "labels",
        [
            "at least 2 labels",
            "at least 4 labels",
            f"appears from <= {expected.appears_from}",
            f"appears from < {expected.appears_from}",
            f"count error <= {expected.half_width}",
            f"count error < {share + 0.1:.3f} %",
            f"count error < {share - 0.1:.3f} %",
            "epsilon <= 2",
            "epsilon < 2",
            "delta <= 1e-6",
            "share cut < 50 %",
            "missing labels at most 3",
            "bounding error < 5 %",
            "data: no label is misspelled",
        ],
    )
    assert list(found.values()) == [
        *(True, False, True, False, True, True, False, True, False, True),
        *(None, None, None, None),
    ]


def test_the_share_cut_is_known_where_users_were_counted() -> None:
    release = labels_release(users_by_labels=6)
    cut = release.mechanism.users(release.noisy).share_cut()
    within = f"share cut < {50 * (cut.low + cut.high):.6f} %"
    found = verdicts(release, "labels", ["share cut < 99 %", "share cut < 1 %", within])
    assert list(found.values()) == [True, False, None], "the noise leaves the middle open"


@pytest.mark.usefixtures("repeatable")
def test_the_share_cut_is_known_where_a_cap_was_found() -> None:
    """By its proved interval, not by the estimate; at a cap of 1 there is none."""
    rows = pd.DataFrame([(who, f"{n}") for who in range(900) for n in range(3)], columns=["u", "l"])
    for most, expected in ((20, [True, False]), (1, [None, None])):
        counts = dh.LabelCounts.from_table(
            rows, label="l", user="u", max_labels=most, keep_sets=True
        )
        release = dh.AutoThreshold(epsilon=9, delta="1e-6", max_labels=most).release(counts)
        assert (
            list(verdicts(release, "labels", ["share cut < 40 %", "share cut > 40 %"]).values())
            == expected
        )


def test_the_shop_of_the_example_is_the_table_that_is_shipped() -> None:
    rows = pd.read_parquet(Path(__file__).parents[2] / "data/items_online_retail.parquet")
    items = rows.drop_duplicates().groupby("customer").size().to_numpy()
    for bound in (1, 3, 10, 30, 100, 1000):
        cut = 1 - np.minimum(items, bound).sum() / items.sum()
        assert EXAMPLES["shop"].share_cut(bound) == pytest.approx(cut, abs=0.003)


def test_an_example_says_how_much_too_low_counts_would_be() -> None:
    found = {
        like: [
            row["too_low"]
            for row in dh.plan("labels", max_labels=[1, 10, 1800], epsilon=1, users_like=like)
        ]
        for like in ("flights", "forum", "shop")
    }
    for too_low in found.values():
        assert 1 > too_low[0] > too_low[1] > too_low[2] == 0
    tens = [round(too_low[1], 2) for too_low in found.values()]
    assert tens == [0.41, 0.71, 0.85]
    with pytest.raises(dh.ParameterError, match="users_like must be one of 'flights'"):
        dh.plan("labels", users_like="cities")
