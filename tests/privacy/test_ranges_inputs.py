"""Inputs that a release over bins must refuse, and nodes that its budget must refuse."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dphist import AdaptiveTree, DphistError, HierarchicalTree, LeafCounts, Release, bin_counts
from dphist.ranges.adaptive_tree.path_budget import UNITS, PathBudget
from dphist.ranges.budget import Budget
from tests.support.privacy.ranges_cases import MAKE


@pytest.mark.parametrize("nodes", [
    np.array([-1]), np.array([-1, 7]), np.array([5, 3, 5], np.uint64), np.array([[5], [5]]),
    np.array([False, True]), np.array([8]), np.array([7], np.int8),
], ids=repr)  # fmt: skip
def test_the_ledger_refuses_nodes_that_it_would_not_charge_as_they_are_counted(nodes):
    """Negative nodes are charged to one bin and counted as others; of unsigned ones any order
    passes as ascending, so that a node is charged once and counted twice."""
    budget = PathBudget(3, 0)
    with pytest.raises(DphistError, match="budget"):
        budget.charge(3, nodes, UNITS)
    assert budget.highest(0, np.array([0])) == 0


def test_rules_that_ask_for_nodes_that_are_none_get_nothing(monkeypatch):
    """End to end: whatever the rules do, a record must not cost more than the budget."""
    from dphist.ranges.adaptive_tree import exploration

    def run(self):
        for level in range(1, 7):
            # Node -1 is charged to the last node; what is counted is all bins but its own.
            self._count(level, np.array([-(2 ** (level - 1))]), UNITS // 6)

    monkeypatch.setattr(exploration.Explorer, "run", run)
    monkeypatch.setattr(Budget, "noise", lambda b, share, size, source: np.zeros(size, np.int64))
    with pytest.raises(DphistError, match="budget"):
        AdaptiveTree(epsilon=1, bins=64).release(np.arange(64))


VALUES = [
    ([-1, 2**63], [0, 1]),
    ([Decimal("1e30"), Decimal("1e-30")], [0, 1]),
    ([Decimal("0.5"), 0.25], [0, 1]),
    ([datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)], ["2024-01-01", "2024-01-02"]),
    ([datetime.datetime(2024, 1, 1, 12), datetime.date(2024, 1, 1)], ["2024-01-01", "2024-01-02"]),
]


@pytest.mark.parametrize(("values", "edges"), VALUES, ids=repr)
def test_whether_a_categorical_column_serves_does_not_depend_on_several_rows(values, edges):
    """Each row alone is binned, and both are refused: an error that depends on the whole data."""

    def outcome(rows):
        categories = pd.Index(list(dict.fromkeys(rows)), dtype=object)
        frame = pd.DataFrame({"x": pd.Categorical.from_codes(range(len(rows)), categories)})
        try:
            bin_counts(frame, column="x", edges=edges)
        except DphistError as error:
            return str(error)
        return "binned"

    assert outcome(values[:1]) == outcome(values[1:]) == outcome(values)


@pytest.mark.parametrize("counts", [
    np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[1, 0], [0, 0]]),  # type: ignore[arg-type]
    [[True, 2], [3, 4]],
    iter([np.ones((2, 2), int), 7]),
    iter([[[1, 2], [3]]]),
], ids=["masked", "truth values", "a chunk that is no array", "a ragged chunk"])  # fmt: skip
def test_grids_and_chunks_that_are_none_are_refused(counts):
    with pytest.raises(DphistError, match="counts"):
        LeafCounts(epsilon=1, bins=(2, 2)).release(counts)


def test_fractions_do_not_get_through_measure():
    """`measure` is public and says that what it returns satisfies the guarantee."""
    with pytest.raises(DphistError):
        HierarchicalTree(epsilon=1, bins=2, branching=2).measure(np.array([0.25, 0.5]))


@pytest.mark.parametrize("make", MAKE)
def test_releases_can_be_pickled(make):
    release = make(epsilon=1).release([1, 2, 3, 4])
    assert pickle.loads(pickle.dumps(release)) == release  # noqa: S301 - our own


@pytest.mark.parametrize("make", MAKE)
def test_a_file_with_bins_that_are_not_the_mechanism_s_is_refused(make):
    import json

    from dphist.release.document import checksum

    content = json.loads(make(epsilon=1).release([1, 2, 3, 4]).to_json())
    content["value"]["bins"] = [1, 2]
    del content["checksum"]
    text = json.dumps({**content, "checksum": checksum(content)})
    with pytest.raises(DphistError):
        Release.from_json(text)
