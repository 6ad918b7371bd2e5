"""The lemmas of docs/understand/proofs/adaptive_tree.md, each with a planted bug.

The noise is made such that any data end in the same published numbers. Then a tree must ask for the
same counts, and the loss is the sum over counts of cost times difference: at most the budget.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dphist import AdaptiveTree, DphistError
from dphist.ranges.adaptive_tree import exploration
from dphist.ranges.adaptive_tree.exploration import Rules
from dphist.ranges.adaptive_tree.path_budget import UNITS, PathBudget
from dphist.ranges.budget import Budget
from tests.support.privacy.ranges_cases import neighbours


def adaptive_run(monkeypatch, mechanism, counts, outcome):
    """Run the whole tree such that `outcome(step, true)` gives the numbers each batch publishes.

    Returns the batches (level, nodes, units, true) as the budget was charged for them. The exact
    counts are computed here: a tree that looked at any others would publish other numbers.
    """
    arranged = mechanism.shape.arrange(np.asarray(counts))
    requests, wanted = [], []
    charge = PathBudget.charge

    def charging(self, level, nodes, units):
        charge(self, level, nodes, units)
        true = arranged.reshape(2**level, -1).sum(axis=1)[nodes]
        requests.append((level, nodes.copy(), units, true))

    def noise(budget, share, size, source):
        if size == 0:
            return np.zeros(0, np.int64)
        _, nodes, units, true = requests[-1]
        assert len(wanted) == len(requests) - 1  # every count is paid for, once
        assert (share, size) == (Fraction(units, UNITS), len(nodes))
        wanted.append(outcome(len(wanted), true))
        return wanted[-1] - true

    with monkeypatch.context() as patch:
        patch.setattr(PathBudget, "charge", charging)
        patch.setattr(Budget, "noise", noise)
        release = mechanism.release(counts)
    assert len(wanted) == len(requests)
    assert (release.noisy["counts"] == np.concatenate(wanted)).all()
    return requests, release


def path_loss(requests, others):
    """The loss of two runs that published the same; None if they asked for different counts."""
    if len(requests) != len(others):
        return None
    spent = 0
    for (level, nodes, units, true), (level2, nodes2, units2, true2) in zip(
        requests, others, strict=True
    ):
        if level != level2 or units != units2 or not np.array_equal(nodes, nodes2):
            return None
        spent += units * int(np.abs(true - true2).sum())
    return spent


def losses_of_pairs(monkeypatch, mechanism, pairs, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for counts, more in pairs:
        outcomes = []

        def fresh(step, true, outcomes=outcomes):
            outcomes.append(true + rng.integers(-30, 31, len(true)))
            return outcomes[-1]

        requests, release = adaptive_run(monkeypatch, mechanism, counts, fresh)
        others, same = adaptive_run(
            monkeypatch,
            mechanism,
            more,
            lambda step, true, known=outcomes: _known(known, step, true),
        )
        found.append(path_loss(requests, others))
        if found[-1] is not None:
            assert same == release
    return found


def _known(outcomes, step, true):
    """The numbers another run published; where the runs part, anything."""
    known = outcomes[step] if step < len(outcomes) else true
    return known if len(known) == len(true) else true


ADAPTIVE = [(1,), (7,), (32,), (45,), (64,), (130,), (4, 4), (5, 13), (8, 8), (2, 3, 3), (5, 4, 6)]


@pytest.mark.long(every=6)
@pytest.mark.quick(
    "1}-1000-bins5]", "1}-1000-bins7]", "}-1000-bins10]", "{'epsilon': 1}-1000-", every=7
)
@pytest.mark.parametrize("bins", ADAPTIVE)
@pytest.mark.parametrize("most", [0, 3, 1000, 10**6])
@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 1},
        {"epsilon": 1, "workload": "prefix"},
        {"rho": 1},
        {"epsilon": 1, "workload": "prefix", "expected_total": 1000},
        {"rho": 1, "workload": "prefix", "expected_total": 10},
    ],
    ids=str,
)
def test_an_adaptive_tree_spends_no_more_on_any_path(monkeypatch, bins, most, settings):
    """Lemmas 2 and 3: same published numbers, same requests, and a loss of at most the budget."""
    mechanism = AdaptiveTree(bins=bins, **settings)
    pairs = itertools.islice(neighbours(bins, most), 0, None, max(1, math.prod(bins) // 8))
    for found in losses_of_pairs(monkeypatch, mechanism, pairs, seed=most):
        assert found is not None
        assert UNITS * 9 // 10 < found <= UNITS


@pytest.mark.parametrize("bins", [(130,), (5, 13)], ids=str)
@pytest.mark.parametrize("kind", [{"epsilon": 1}, {"rho": 1}], ids=str)
@pytest.mark.quick(every=4)
def test_any_division_of_the_budget_spends_no_more(monkeypatch, bins, kind):
    """Lemma 2 does not depend on the rules, so not on a guess either: random rules, random data."""
    rng = np.random.default_rng(7)
    for _ in range(6):
        few = int(rng.integers(0, 5))
        rules = Rules(
            few,
            int(rng.integers(0, 6)),
            float(rng.uniform(0.001, 0.999)),
            stop=float(rng.uniform(0, 30)),
            merge=float(rng.choice([0, 16, math.inf])),
            merge_doubt=float(rng.uniform(0, 5)),
            extra=int(rng.integers(0, 4)),
            arity=int(rng.integers(1, 7)),
            last_share=float(rng.uniform(0.1, 1)),
            share=float(rng.uniform(0.1, 1)),
        )
        monkeypatch.setattr(AdaptiveTree, "_rules", rules)
        pairs = itertools.islice(neighbours(bins, 1000), 0, None, math.prod(bins) // 2)
        for found in losses_of_pairs(monkeypatch, AdaptiveTree(bins=bins, **kind), pairs):
            assert found is not None
            assert 0 < found <= UNITS


def test_a_guess_decides_in_the_place_of_the_data(monkeypatch):
    """Two guesses are two mechanisms; for one of them, all data begin with the same request."""
    counts = np.zeros(4096, int)
    first = {}
    for guess in (None, 10**4, 10**9):
        mechanism = AdaptiveTree(epsilon="0.1", bins=4096, workload="prefix", expected_total=guess)
        begun = []
        for more in (0, 1, 10**6):
            counts[5] = more
            requests, _ = adaptive_run(monkeypatch, mechanism, counts, lambda step, true: true)
            level, nodes, units, _ = requests[0]
            begun.append((level, len(nodes), units))
        assert len(set(begun)) == 1
        first[guess] = begun[0]
    assert first[None] == first[10**9] != first[10**4]


def test_what_would_overspend_is_refused_before_it_is_counted(monkeypatch):
    """Whatever the rules do, the budget is asked first."""
    monkeypatch.setattr(exploration.Explorer, "_stop", _stop_for_free(exploration.Explorer._stop))
    requests = []
    charge = PathBudget.charge

    def charging(self, level, nodes, units):
        charge(self, level, nodes, units)
        requests.append(units)

    def noise(self, share, size, source):
        assert share == Fraction(requests[-1], UNITS)
        return np.zeros(size, np.int64)

    monkeypatch.setattr(PathBudget, "charge", charging)
    monkeypatch.setattr(Budget, "noise", noise)
    with pytest.raises(DphistError, match="budget"):
        AdaptiveTree(epsilon=1, bins=64).release(np.zeros(64, int))


def _stop_for_free(stop):
    def spends_twice(self, level, left, nodes, fit):
        stop(self, level, left, nodes, fit)
        stop(self, level, left, nodes, fit)

    return spends_twice


def test_a_ledger_that_forgets_is_caught(monkeypatch):
    """Power: without the budget's account, rules that spend twice show up in the loss."""
    monkeypatch.setattr(PathBudget, "charge", lambda self, level, nodes, units: None)
    monkeypatch.setattr(exploration.Explorer, "_stop", _stop_for_free(exploration.Explorer._stop))
    mechanism = AdaptiveTree(epsilon=1, bins=64)
    found = losses_of_pairs(monkeypatch, mechanism, neighbours((64,)))
    assert any(loss is None or loss > UNITS for loss in found)


def test_decisions_by_exact_counts_are_caught(monkeypatch):
    """Power: a tree that looks at the data asks for different counts."""
    run, depths, seen = AdaptiveTree._run, Rules.depths, {}

    def watched(self, counts, source):
        seen["odd"] = bool(counts.sum() % 2)
        return run(self, counts, source)

    monkeypatch.setattr(AdaptiveTree, "_run", watched)
    monkeypatch.setattr(
        Rules,
        "depths",
        lambda self, strength, *rest: depths(self, strength * (1 + 50 * seen["odd"]), *rest),
    )
    found = losses_of_pairs(monkeypatch, AdaptiveTree(epsilon=1, bins=64), neighbours((64,), 5))
    assert None in found


def test_the_ledger_refuses_what_would_overdraw():
    budget = PathBudget(3, 0)
    budget.charge(0, np.array([0]), UNITS // 2)
    budget.charge(3, np.array([1, 5]), UNITS // 2)
    for level, nodes, units in [
        (3, [1], 1),
        (2, [0], 1),
        (0, [0], 1),
        (3, [2, 5], 1),
        (3, [2], UNITS // 2 + 1),
        (3, [2, 2], 1),
        (3, [3, 2], 1),
        (3, [2], 0),
        (3, [2], -5),
    ]:
        with pytest.raises(DphistError, match="budget"):
            budget.charge(level, np.array(nodes), units)
    budget.charge(3, np.array([2]), UNITS // 2)
