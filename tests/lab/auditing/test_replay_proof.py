"""Claims below what the noise costs are refuted by its law; claims at it never are.

The lemmas of docs/understand/proofs/audits.md: ratios of draws, what a release states,
probabilities.
"""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.arrays import IntArray
from dphist.document.audited import Pair
from dphist.lab.auditing.exact.laws import Noise
from dphist.lab.auditing.outcome import make_comparable, watch_run
from dphist.lab.auditing.replay import loss, record, replay
from dphist.lab.auditing.replay.layer import Laws, Shown, bound_by_sampling
from dphist.lab.auditing.replay.session import replace_samplers
from dphist.lab.auditing.replay.transcript import Request
from dphist.lab.auditing.result import Claim
from dphist.lab.auditing.subject import find_setup, find_statement, make_pairs, read_stated

REPLAY = ("replay",)


def audited(mechanism: Any, pair: Pair, epsilon: Any) -> dh.AuditResult:
    pairs = [(pair.name, pair.one, pair.other)]
    return dh.audit(mechanism, pairs, epsilon=epsilon, seconds=0.3, layers=REPLAY)


# --- Lemma 1: draws


def rank(value: int) -> int:
    return 2 * value - 1 if value > 0 else -2 * value


@pytest.mark.parametrize("here", [-9, -2, -1, 0, 1, 3, 12])
@pytest.mark.parametrize("there", [-7, -1, 0, 1, 2, 9])
def test_ratios_of_draws_are_those_of_their_law(here: int, there: int) -> None:
    """Exact for geometric noise; for rounded normal noise never too large, and close."""
    geometric, law = Request("geometric", Fraction(2, 3), 1), Noise("geometric", Fraction(2, 3))
    (low, _), (_, high) = law.at(rank(here))[1], law.at(rank(there))[1]
    assert float(geometric.log_ratio(here, there)) == pytest.approx(math.log(low / high))
    for sigma in (Fraction(3), Fraction(7, 2), Fraction(20)):
        noise, normal = Request("gaussian", sigma, 1), Noise("gaussian", sigma)
        (low, _), (_, high) = normal.at(rank(here))[1], normal.at(rank(there))[1]
        true, bound = math.log(low / high), float(noise.log_ratio(here, there))
        assert bound <= true + 1e-9
        assert true - bound <= abs(here - there) / sigma**2


# --- Lemma 2: what a release states


SUMMED = {"v": dh.Clamp(0, 2, 1)}


def summed(**more: Any) -> tuple[Any, Any]:
    sums = SUMMED | {"w": dh.Clamp(-1, 1, 1)}
    rows = pa.table({"label": [*"aaabbb"], "v": [0, 2, 1] * 2, "w": [1] * 6})
    data = dh.LabelCounts.from_table(rows, label="label", sums=sums)
    return dh.ThresholdHistogram(max_labels=1, sums=sums, **more), data


SMALL: dict[str, Callable[[], tuple[Any, Any]]] = {
    "scan": lambda: (dh.AdaptiveScan(epsilon=3), dh.Profile.from_counts([2, 1])),
    "split": lambda: (dh.RankSplit(epsilon=3), dh.Profile.from_counts([1])),
    "split of a public total": lambda: (
        dh.RankSplit(epsilon=2, total=2), dh.Profile.from_counts([1]),
    ),
    "PrivHist of columns and rows": lambda: (dh.PrivHist(epsilon=9), dh.Profile.from_counts([1])),
    "PrivHist of blocks": lambda: (dh.PrivHist(epsilon="1/2"), dh.Profile.from_counts([2])),
    "sorted counts": lambda: (
        dh.SortedCounts(epsilon=2, labels=2), dh.Profile.from_counts([3, 1]),
    ),
    "sorted counts, sorted": lambda: (
        dh.SortedCounts(epsilon=1, labels=2, inference="sort"), dh.Profile.from_counts([3, 1]),
    ),
    "cumulative counts": lambda: (
        dh.CumulativeCounts(epsilon=1, largest=3), dh.Profile.from_counts([3, 2, 1, 1]),
    ),
    "tree": lambda: (dh.AdaptiveTree(epsilon=4, bins=2), np.array([1, 0])),
    "levels": lambda: (dh.HierarchicalTree(epsilon=6, bins=2), np.array([1, 0])),
    "leaves": lambda: (dh.LeafCounts(epsilon=2, bins=2), np.array([1, 0])),
    "normal leaves": lambda: (dh.LeafCounts(rho=1, bins=2), np.array([1, 0])),
    "leaves with records beside": lambda: (
        dh.LeafCounts(epsilon=4, bins=1),
        dh.BinnedCounts(
            np.array([1]), (dh.Axis.from_edges([0, 1]),), {"below": 1, "above": 1, "null": 2}),
    ),
    "tables": lambda: (
        dh.Tables(rho=3, keys={"a": range(2), "b": range(3)}, tables=["b", "a"]),
        np.array([[1, 0, 0], [0, 0, 0]]),
    ),
    "tables with geometric noise": lambda: (
        dh.Tables(
            epsilon=1, keys={"a": range(2), "b": range(20)}, tables=["b", "a"],
        ),
        np.zeros((2, 20), np.int64),
    ),
    "tables of noisy cells": lambda: (
        dh.Tables(epsilon=9, keys={"a": range(2)}, tables=["a"]), np.array([1, 0]),
    ),
    "labels": lambda: (
        dh.ThresholdHistogram(epsilon=1, delta="1/20", max_labels=1),
        dh.LabelCounts.from_counts(["a", "b"], [5, 4], max_labels=1, max_count=1),
    ),
    "listed labels": lambda: (
        dh.ThresholdHistogram(epsilon=1, max_labels=1, labels=["b", "a", "c"]),
        dh.LabelCounts.from_counts(["a", "b"], [5, 4], max_labels=1, max_count=1),
    ),
    "listed labels with normal noise": lambda: (
        dh.ThresholdHistogram(epsilon=1, max_labels=1, labels=["a"], noise="gaussian"),
        dh.LabelCounts.from_counts(["a"], [5], max_labels=1, max_count=1),
    ),
    "labels with sums": lambda: summed(epsilon=5, delta="1/20"),
    "listed labels with sums": lambda: summed(epsilon=3, labels=["b", "a"]),
    "tables with sums": lambda: (
        dh.Tables(rho=90, keys={"a": range(2)}, tables=["a"], sums=SUMMED),
        dh.KeyedCounts.from_table({"a": [0, 1], "v": [0, 2]}, keys={"a": range(2)}, sums=SUMMED),
    ),
}  # fmt: skip
NEVER = {
    "sorted counts, sorted", "listed labels with normal noise", "tables of noisy cells",
}  # fmt: skip
SELDOM = {
    "tables with geometric noise",
    "scan",
    "PrivHist of blocks",
    "PrivHist of columns and rows",
}  # the same again


def showing(mechanism: Any) -> Callable[[Any], Shown]:
    def show(data: Any) -> Shown:
        found = watch_run(mechanism.release, data)
        return Shown(make_comparable(found), read_stated(mechanism, found.result, data))

    return show


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.quick("[leaves with records beside]", "[split]")
def test_a_release_states_its_noisy_numbers(name: str) -> None:
    """Nothing but those, and no two runs with other numbers make the same release."""
    mechanism, data = SMALL[name]()
    show, told = showing(mechanism), find_setup(mechanism).told
    numbers_of: dict[Any, Any] = {}
    stating = again = 0
    with replace_samplers():
        for seed in range(150):
            transcript = record(show, data, seed=seed, told=told)
            numbers = transcript.noisy_numbers()
            if transcript.published.stated is None:
                continue
            stating += 1
            assert transcript.published.stated == numbers
            again += transcript.published.whole in numbers_of
            assert numbers_of.setdefault(transcript.published.whole, numbers) == numbers
    assert (stating > 0) == (name not in NEVER)
    assert again or name in NEVER | SELDOM


def test_what_rounds_away_is_not_stated() -> None:
    huge = dh.Profile.from_counts([2**50, 5])
    mechanism = dh.SortedCounts(epsilon=1, labels=2)
    assert read_stated(mechanism, mechanism.release(huge), huge) is None
    assert read_stated(mechanism, None, huge) is None


# --- Claims below the cost, and at it


def random_mechanism(name: str, draw: random.Random) -> Any:
    epsilon = Fraction(draw.randrange(1, 60), draw.randrange(1, 30))
    sensitivity = draw.choice([1, 1, 2, 3])
    cells: dict[str, Any] = {"epsilon": epsilon, "sensitivity": sensitivity}
    labels: dict[str, Any] = {
        "epsilon": epsilon,
        "max_labels": sensitivity,
        "max_count": draw.choice([1, 4]),
    }
    return {
        "AdaptiveScan": lambda: dh.AdaptiveScan(**cells),
        "RankSplit": lambda: dh.RankSplit(**cells, total=draw.choice([None, 9, 100])),
        "PrivHist": lambda: dh.PrivHist(**cells),
        "SortedCounts": lambda: dh.SortedCounts(**cells, labels=draw.randrange(1, 9)),
        "CumulativeCounts": lambda: dh.CumulativeCounts(**cells, largest=draw.randrange(1, 9)),
        "AdaptiveTree": lambda: dh.AdaptiveTree(**cells, bins=draw.choice([2, 7, 32])),
        "HierarchicalTree": lambda: dh.HierarchicalTree(**cells, bins=draw.choice([2, 9, 40])),
        "LeafCounts": lambda: dh.LeafCounts(**cells, bins=draw.randrange(1, 9)),
        "ThresholdHistogram": lambda: dh.ThresholdHistogram(**labels, labels=["a", "b", "c"]),
        "sums": lambda: dh.ThresholdHistogram(
            **labels,
            labels=["a", "b", "c"],
            sums={"v": dh.Clamp(0, draw.randrange(1, 9), "1/2"), "w": dh.Clamp(-3, 1, 1)},
            sums_share=draw.choice(["1/2", "1/3", "0.9"]),
        ),
    }[name]()


MECHANISMS = [
    "AdaptiveScan", "RankSplit", "PrivHist", "SortedCounts", "CumulativeCounts", "AdaptiveTree",
    "HierarchicalTree", "LeafCounts", "ThresholdHistogram", "sums",
]  # fmt: skip


def cost_of(mechanism: Any, pair: Pair) -> Fraction:
    """What the noise costs at most, with the draws that an audit tries."""
    show, told, worst = showing(mechanism), find_setup(mechanism).told, Fraction(0)
    with replace_samplers():
        for seed in range(5):
            for one, other in itertools.permutations((pair.one, pair.other)):
                mine = record(show, one, seed=seed, told=told)
                worst = max(worst, loss(mine, replay(mine, show, other, told=told))[0])
    return worst


@pytest.mark.long(every=6)
@pytest.mark.quick(*(f"[{name}-0]" for name in MECHANISMS), every=9)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", MECHANISMS)
def test_claims_below_the_cost_are_refuted_and_claims_at_it_are_not(name: str, seed: int) -> None:
    draw = random.Random(f"{name} {seed}")
    mechanism = random_mechanism(name, draw)
    pair = draw.choice([each for each in make_pairs(mechanism) if not each.huge])
    cost = cost_of(mechanism, pair)
    at = audited(mechanism, pair, cost)
    assert not at.refuted
    assert not at.objects
    assert at.epsilon_lower <= cost
    assert cost <= mechanism.epsilon_at(0)
    if cost:
        below = audited(mechanism, pair, cost * (1 - Fraction(1, 10**6)))
        assert below.refuted
        assert below.certain
        assert below.layer == "replay"
        assert below.epsilon < below.epsilon_lower <= cost


@pytest.mark.verify
def test_a_claim_below_the_cost_is_refuted_before_any_run_is_counted() -> None:
    result = dh.audit(dh.AdaptiveScan(epsilon=1), epsilon="0.4", seconds=30)
    assert result.refuted
    assert result.samples == 0
    assert "The claim of ε = 0.4 is refuted (certain)." in str(result)
    assert "at least 1, with certainty" in str(result)


@pytest.mark.parametrize("rho", ["1/50", "1/2", 3])
def test_no_pure_claim_holds_of_normal_noise(rho: Any) -> None:
    mechanism = dh.LeafCounts(rho=rho, bins=3)
    for epsilon in ("1/3", 4, 1000):
        assert audited(mechanism, make_pairs(mechanism)[0], epsilon).refuted


# --- Where it is no proof


class Folded(dh.LeafCounts):
    """Releases sizes alone: none and one record are told apart by log cosh(epsilon) at most."""

    __slots__ = ()

    def _run(self, counts: IntArray, source: Any) -> Any:
        noisy, kept = super()._run(counts, source)
        return np.maximum(np.abs(noisy), 1), kept


def test_what_states_less_than_its_noise_is_objected_to_at_most() -> None:
    """A subclass that keeps a claim below what its noise costs."""
    pair = Pair("a record", np.array([0]), np.array([1]))
    result = audited(Folded(epsilon=1, bins=1), pair, "0.5")
    assert math.log(math.cosh(1)) < 0.5
    assert result.objects
    assert not result.refuted
    said = " ".join(str(result).split())
    assert "is not refuted (confidence 0.999), but its noise does not account for it" in said


def test_a_subclass_is_taken_to_state_nothing() -> None:
    assert find_statement(dh.LeafCounts(epsilon=1, bins=1)) is not None
    assert find_statement(Folded(epsilon=1, bins=1)) is None
    assert find_statement(len) is None


def test_a_statement_that_is_contradicted_is_not_relied_on(monkeypatch: Any) -> None:
    """The same fault in the class itself: it states other numbers than were drawn."""
    original = dh.LeafCounts._run

    def folded(self: Any, counts: IntArray, source: Any) -> Any:
        noisy, kept = original(self, counts, source)
        return np.maximum(np.abs(noisy), 1), kept

    monkeypatch.setattr(dh.LeafCounts, "_run", folded)
    mechanism = dh.LeafCounts(epsilon=1, bins=1)
    pair = Pair("a record", np.array([0]), np.array([1]))
    result = audited(mechanism, pair, "0.5")
    assert result.objects
    assert not result.refuted


@pytest.mark.parametrize("inference", ["sort", "none"])
def test_counts_whose_order_is_lost_are_objected_to(inference: Any) -> None:
    mechanism = dh.SortedCounts(epsilon=1, labels=3, inference=inference)
    result = audited(mechanism, make_pairs(mechanism)[0], "0.5")
    assert result.objects
    assert not result.refuted


# --- Lemma 3: probabilities, where delta is above 0


ONE_RECORD = Pair("a record", np.array([0]), np.array([1]))
SURE = 1 - 1e-8


def true_delta(epsilon: float) -> float:
    """Of two-sided geometric noise of epsilon 1 on one count."""
    return (1 - math.exp(epsilon - 1)) / (1 + math.exp(-1))


def test_a_delta_is_compared_with_the_probability_of_what_tells() -> None:
    mechanism, true = dh.LeafCounts(epsilon=1, bins=1), true_delta(0.5)
    pairs = [(ONE_RECORD.one, ONE_RECORD.other)]
    for delta, refuted in ((true * 1.001, False), (true / 4, True)):
        result = dh.audit(
            mechanism, pairs, epsilon="0.5", delta=delta, seconds=1, confidence=SURE,
            layers=REPLAY,
        )  # fmt: skip
        assert result.refuted == refuted
        assert not result.certain
        assert result.objects != refuted
    assert "fresh runs on it" in result.event


@pytest.mark.verify
def test_sampled_claims_are_wrongly_refuted_as_seldom_as_stated() -> None:
    """60 audits of the exact delta, each allowed to err by a fifth: 12 are expected at most."""
    mechanism, error = dh.LeafCounts(epsilon=1, bins=1), 0.2
    claim = Claim(Fraction(1, 2), Fraction(true_delta(0.5) * (1 + 1e-9)))
    ways = [Laws(showing(mechanism), ONE_RECORD, way, 0, {}, False) for way in (False, True)]
    with replace_samplers():
        found = [bound_by_sampling(ways, claim, seconds=0.01, error=error) for _ in range(60)]
    wrong = sum(each is not None and each.epsilon > claim.epsilon for each in found)
    assert 1 <= wrong <= 24  # four standard deviations; and it errs at all
