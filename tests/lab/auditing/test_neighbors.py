"""Neighbors stay neighbors, however they are made and varied; slow mechanisms get fewer of them."""

import random
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.document.audited import Pair
from dphist.lab.auditing.named import bin_pairs, label_pairs
from dphist.lab.auditing.statistical.rounds import run_in_rounds
from dphist.lab.auditing.subject import check_pairs, find_variants, make_pairs

SCAN = dh.AdaptiveScan(epsilon=1, sensitivity=3)
LEAVES = dh.LeafCounts(epsilon=1, bins=(4, 4), sensitivity=2)
LABELS = dh.ThresholdHistogram(epsilon=1, delta="0.01", max_labels=3, max_count=2)
STREAM = dh.ContinualMechanism(epsilon=1, delta="0.01", horizon=16, max_labels=2)
OF_USERS = dh.ContinualMechanism(
    epsilon=1, horizon=16, max_labels=1, labels=["a", "b"], max_events_per_user=2
)


def apart(mechanism: Any, pair: Pair) -> bool:
    """Whether the two differ, and by one protected unit at most."""
    if isinstance(mechanism, dh.AdaptiveScan):
        return 0 < pair.one.distance(pair.other) <= mechanism.sensitivity
    if isinstance(mechanism, dh.LeafCounts):
        return bool(0 < np.abs(pair.one - pair.other).sum() <= mechanism.sensitivity)
    if isinstance(mechanism, dh.ThresholdHistogram):
        one, other = pair.raw
        changes = [abs(one.get(name, 0) - other.get(name, 0)) for name in one | other]
        return sum(change > 0 for change in changes) <= 3 and 0 < max(changes) <= 2
    different = [k for k, (a, b) in enumerate(zip(pair.one, pair.other, strict=True)) if a != b]
    return 0 < len(different) <= (mechanism.max_events_per_user or 1)


MECHANISMS = {
    "scan": SCAN, "leaves": LEAVES, "labels": LABELS, "stream": STREAM, "users": OF_USERS,
}  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.quick(every=3)
def test_neighbors_differ_by_one_unit(name: str) -> None:
    mechanism = MECHANISMS[name]
    pairs = make_pairs(mechanism)
    assert len({pair.name for pair in pairs}) == len(pairs) >= 8
    assert all(apart(mechanism, pair) for pair in pairs)
    vary, draw = find_variants(mechanism), random.Random(1)
    assert vary is not None
    pair, made = pairs[-1], 0
    for _ in range(12):
        for variant in vary(pair, draw):
            assert apart(mechanism, variant), variant.name
            pair, made = variant, made + 1
    assert made >= 12


@pytest.mark.parametrize("make", [
    dh.AdaptiveScan,
    lambda epsilon: dh.SortedCounts(epsilon=epsilon, labels=3),
    lambda epsilon: dh.CumulativeCounts(epsilon=epsilon, largest=3),
    lambda epsilon: dh.LeafCounts(epsilon=epsilon, bins=4),
])  # fmt: skip
def test_counts_next_to_the_largest_are_among_them(make: Any) -> None:
    assert any(pair.huge for pair in make_pairs(make(epsilon=1)))


@pytest.mark.parametrize("make", [dh.RankSplit, dh.PrivHist])
def test_mechanisms_that_refuse_huge_counts_get_the_others(make: Any) -> None:
    pairs = make_pairs(make(epsilon=1))
    assert not any(pair.huge for pair in pairs)
    assert "a very large count grows" in [pair.name for pair in pairs]


def test_tables_differ_in_the_rows_of_one_user() -> None:
    for name, one, other in (*label_pairs(), *bin_pairs()):
        assert sorted(map(repr, one)) == sorted(repr(row) for row in other if row[0] != "one"), name
        assert len(other) > len(one)


@pytest.mark.verify
def test_a_fault_off_the_edge_cases_is_found_by_variants() -> None:
    """Only a count of 7 beside the new label tells: none of the first pairs has one."""

    def run(counts: Any) -> tuple[bool, int]:
        return 7 in counts and 1 in counts and random.random() < 0.9, random.randrange(3)

    def vary(pair: Pair, draw: random.Random) -> Any:
        for more in draw.sample(range(5, 9), 3):
            yield Pair(f"{pair.name}, {more}", [*pair.one, more], [*pair.other, more])

    pairs = check_pairs([("none", [5], [5, 1]), ("large", [3], [3, 1])])
    limits: dict[str, Any] = {"epsilon": 2, "delta": 0, "error": 1e-3, "tell": lambda _: None}
    plain = run_in_rounds(run, pairs, seconds=0.5, **limits)
    assert plain.stopped == "the time was up"
    varied = run_in_rounds(run, pairs, seconds=60, variants=vary, **limits)
    assert varied.stopped == "refuted"
    assert varied.best is not None
    assert 7 in varied.best.pair.one
