"""Plans of ranges state what the mechanism states, and criteria are decided by its errors."""

from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.planning.declared import count_guessers
from tests.support.planning.verdicts import verdicts

CASES: dict[str, dict[str, Any]] = {
    "ranges": {"epsilon": ["0.2", 1], "bins": 64, "total": 9000, "sensitivity": [1, 4]},
    "prefixes": {"epsilon": ["0.1", 1], "bins": 64, "total": 9000, "workload": "prefix"},
    "small map": {"epsilon": ["0.1", 1], "bins": (8, 16), "total": 9000},
    "map": {"epsilon": 1, "bins": (8, 16), "total": 9000},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick(every=4)
def test_every_number_is_the_library_s_own(case: str) -> None:
    asked = CASES[case]
    workload = asked.get("workload", "ranges")
    prefixes = workload == "prefix"
    for row in dh.plan("ranges", **asked):
        made = dh.AdaptiveTree(
            epsilon=row["epsilon"],
            bins=asked["bins"],
            sensitivity=row["sensitivity"],
            workload=workload,
            expected_total=asked["total"] if row.get("total_given") else None,
        )
        assert made.epsilon_at(0) <= row["epsilon"], "it costs no more than is stated"
        assert row["guessed_right"] == count_guessers(row["epsilon"])
        error = row["prefix_error" if prefixes else "range_error"]
        assert error == made.expected_error(asked["total"], prefixes=prefixes)
        assert ("range_error" in row) is not prefixes
        assert row["relative_error"] == error / asked["total"]


def test_a_guess_of_the_total_is_given_where_the_tree_follows_it() -> None:
    """Of 200 to 2,000 of prefixes: docs/guides/ranges.md, What a guess of the total gains."""
    asked: dict[str, Any] = {"epsilon": ["0.01", "0.1", 1], "bins": 64, "total": 9000}
    prefixes = dh.plan("ranges", **asked, workload="prefix")
    assert prefixes.column("total_given") == [False, True, False]
    assert "total_given" not in dh.plan("ranges", **asked).columns


def test_ranges() -> None:
    counts = np.full(64, 1000)
    release = dh.HierarchicalTree(epsilon=1, bins=64, nonnegative=False).release(counts)
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, 65, (2, 2000)), axis=0)
    error = np.sqrt(np.mean(release.value.error(ends[0], ends[1]) ** 2))
    share = 100 * error / (release.total or 0)
    found = verdicts(
        release,
        "ranges",
        [
            f"range error < {error * 1.01:.6f} records",
            f"range error < {error * 0.99:.6f}",
            f"range error < {share * 1.01:.6f} %",
            f"range error < {share * 0.99:.6f} %",
            "epsilon at most 1",
        ],
        bins=64,
        total=9,
    )
    assert list(found.values()) == [True, False, True, False, True]
