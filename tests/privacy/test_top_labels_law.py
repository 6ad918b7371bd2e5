"""What delta-approximate rho-CDP means, checked on small neighbours for Algorithms 2, 3 and 4.

The mechanism itself runs on all small neighbours, with its noise replaced by a recorder of centers
and scale; so the laws of what it releases are known in closed form (that the noise and the choice
are those is what tests/noise/test_lazy.py and tests/labels/test_top_*.py show). For each pair
the laws P~, Q~ and the event S of docs/understand/proofs/top_labels.md are made, and three things
checked: restricted to S they are below the laws of what is released, S has mass 1 - delta or more,
and the Renyi divergences are at most rho * order, both ways.
"""

import functools
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from dphist.data.label_counts import LabelCounts
from dphist.labels import measuring
from dphist.labels.top_labels import TopLabels
from dphist.labels.top_threshold import TopThreshold
from dphist.noise.quantiles import logarithm_above

SLACK = 1e-9
ORDERS = [1.0001, 1.5, 2, 5, 30]
LABELS = "abcd"
Counts = dict[str, int]


class Recorder:
    """Stands in for LazyNoise: keeps what it is asked for; `script` holds noise, or nothing."""

    asked: "Recorder"
    script: tuple[float, ...] | None = None

    def __init__(
        self, law: Any, scale: Fraction, centers: Sequence[Any], source: Any = None
    ) -> None:
        self.scale, self.centers = scale, [Fraction(c) for c in centers]
        Recorder.asked = self

    def values(self) -> list[float]:
        noise = Recorder.script or (0,) * len(self.centers)
        return [float(c) + z for c, z in zip(self.centers, noise, strict=True)]

    def descending_above(self, threshold: int, most: int) -> list[int]:
        if Recorder.script is None:
            return []
        values = self.values()
        above = [i for i, v in enumerate(values) if v > values[threshold]]
        return sorted(above, key=lambda i: -values[i])[:most]

    def rounded(self, i: int) -> int:
        return math.floor(self.values()[i] + 0.5)


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(measuring, "LazyNoise", Recorder)
    yield
    Recorder.script = None


def label_counts(counts: Counts, mechanism: Any) -> LabelCounts:
    labels = tuple(counts) or ("none",)
    amounts = tuple(counts.values()) or (0,)
    return counted(LabelCounts, labels, amounts, mechanism.max_labels, mechanism.max_count)


@functools.cache  # the same few tables again and again, and counting takes its time
def counted(
    kind: type, labels: tuple, amounts: tuple, max_labels: int | None, max_count: int
) -> LabelCounts:
    return kind.from_counts(list(labels), list(amounts), max_labels=max_labels, max_count=max_count)


def ranked(counts: Counts) -> list[str]:
    """All labels that occur, in the total order of `LabelCounts.largest`."""
    return sorted((x for x in counts if counts[x] > 0), key=lambda x: (-counts[x], x))


@dataclass
class Seen:
    """What the mechanism works on: centers of its candidates and of the threshold."""

    centers: dict[str, Fraction]
    threshold: Fraction
    scale: Fraction
    empty: Fraction  # the center of a label of count 0


def seen(mechanism: Any, counts: Counts) -> Seen:
    mechanism.release(label_counts(counts, mechanism))
    asked = Recorder.asked
    top = ranked(counts)[: len(asked.centers) - 1]
    centers = dict(zip(top, asked.centers, strict=False))
    shift = asked.centers[0] - counts[top[0]] if top else Fraction(0)
    return Seen(centers, asked.centers[-1], asked.scale, shift)


def renamed(one: Seen, other: Seen) -> tuple[list[str], dict[str, Fraction]]:
    """Labels of `one` alone become b0, b1, ...; as many as either side has, empty ones added."""
    own = [x for x in one.centers if x not in other.centers]
    foreign = [x for x in other.centers if x not in one.centers]
    centers = {x: c for x, c in one.centers.items() if x in other.centers}
    spare = [f"b{j}" for j in range(max(len(own), len(foreign)))]
    values = [one.centers[x] for x in own] + [one.empty] * (len(spare) - len(own))
    return spare, {**centers, **dict(zip(spare, values, strict=True))}


def neighbours(
    max_labels: int, max_count: int, number: int, seed: int
) -> list[tuple[Counts, Counts]]:
    """Tables with and without one user, who adds to at most `max_labels` labels; worst ones too."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(number):
        base = {x: rng.choice([0, 0, 1, 2, 2, 3]) for x in LABELS}
        chosen = rng.sample(LABELS, min(max_labels, len(LABELS)))
        pairs.append(
            (
                base,
                {x: c + (rng.randint(0, max_count) if x in chosen else 0) for x, c in base.items()},
            )
        )
    new = dict.fromkeys(LABELS[:max_labels], max_count)
    pairs.append((dict.fromkeys(LABELS, 0), {**dict.fromkeys(LABELS, 0), **new}))
    flat = dict.fromkeys(LABELS, 3)  # ties: one user lifts the last labels of the order
    pairs.append((flat, {x: 3 + max_count * (x in LABELS[-max_labels:]) for x in LABELS}))
    pairs.append((flat, {x: 3 + max_count * (x in LABELS[:max_labels]) for x in LABELS}))
    return [*pairs, *((b, a) for a, b in pairs)]


def renyi(p: Sequence[float], q: Sequence[float], order: float) -> float:
    total = sum(
        math.exp(order * math.log(a) + (1 - order) * math.log(b)) for a, b in zip(p, q, strict=True)
    )
    return math.log(total) / (order - 1)


# Algorithm 3: ranked labels, in closed form.


def ranking_law(centers: dict[str, Fraction], stop: Fraction, scale: Fraction, k: int) -> dict:
    """One exponential mechanism after another over labels and ⊥, until ⊥ or k of them."""
    weight = {x: math.exp(float((c - stop) / scale)) for x, c in centers.items()}
    law: dict[tuple, float] = {}

    def grow(chosen: tuple, chance: float, left: float) -> None:
        if len(chosen) == k:
            law[chosen] = chance
            return
        law[(*chosen, None)] = chance / (left + 1)
        for x in centers:
            if x not in chosen:
                rest = sum(weight[y] for y in centers if y not in chosen and y != x)
                grow((*chosen, x), chance * weight[x] / (left + 1), rest)

    grow((), 1.0, sum(weight.values()))
    assert sum(law.values()) == pytest.approx(1)
    return law


def breaches_of_top_labels(
    mechanism: TopLabels, one: Counts, other: Counts
) -> tuple[float, float, float]:
    """How far domination, mass and divergence are missed; all at most 0 where they hold."""
    views = seen(mechanism, one), seen(mechanism, other)
    k, rho, delta = mechanism.k, float(mechanism.guarantee.rho), float(mechanism.delta)
    finer, domination, mass = [], -1.0, -1.0
    for view, others in (views, views[::-1]):
        spare, centers = renamed(view, others)
        law = ranking_law(centers, view.threshold, view.scale, k)
        released = ranking_law(view.centers, view.threshold, view.scale, k)
        kept = {y: p for y, p in law.items() if not set(y) & set(spare)}
        domination = max([domination, *(p - released.get(y, 0.0) for y, p in kept.items())])
        mass = max(mass, 1 - sum(kept.values()) - delta)
        finer.append(law)
    p, q = finer
    assert p.keys() == q.keys()
    pairs = [[p[y] for y in p], [q[y] for y in p]]
    divergence = max(
        renyi(*pair, order) - rho * order  # type: ignore[arg-type, call-arg]
        for pair in (pairs, pairs[::-1])
        for order in ORDERS
    )
    return domination, mass, divergence


TOP_LABELS = [
    {"k": 2, "candidates": 2, "epsilon": 1, "delta": "0.2"},
    {"k": 1, "candidates": 3, "epsilon": "0.5", "delta": "0.05", "max_labels": 1},
    {"k": 2, "candidates": 3, "epsilon": 2, "delta": "0.3", "max_labels": 2, "max_count": 2},
    {"k": 3, "candidates": 3, "epsilon": 1, "delta": "0.5", "max_count": 3},
    {"k": 3, "candidates": 4, "epsilon": "0.3", "delta": "0.1", "max_labels": 3},
]


def worst_of_top_labels(mechanism: TopLabels, number: int = 100) -> tuple[float, ...]:
    pairs = neighbours(mechanism.max_labels or len(LABELS), mechanism.max_count, number, 1)
    found = [breaches_of_top_labels(mechanism, *pair) for pair in pairs]
    return tuple(max(column) for column in zip(*found, strict=True))


@pytest.mark.long(every=2)
@pytest.mark.quick("parameters1")
@pytest.mark.parametrize("parameters", TOP_LABELS)
def test_top_labels_keep_the_definition(parameters: dict) -> None:
    assert max(worst_of_top_labels(TopLabels(**parameters))) <= SLACK


def test_the_delta_of_top_labels_is_used() -> None:
    """All labels new, each as common as one user makes it: S misses delta / (1 + delta)."""
    mechanism = TopLabels(k=2, candidates=4, epsilon=1, delta="0.1", max_labels=2)
    new = {"a": 1, "b": 1}
    assert breaches_of_top_labels(mechanism, {}, new)[1] == pytest.approx(0.1 / 1.1 - 0.1, abs=1e-6)


class ThresholdTooLow(TopLabels):
    __slots__ = ()

    @property
    def threshold(self) -> Fraction:
        return TopLabels.threshold.fget(self) - 1


class OneLabelCounted(TopLabels):
    """ln(1 / delta) in place of ln(labels / delta)."""

    __slots__ = ()

    @property
    def threshold(self) -> Fraction:
        return self.max_count + self.noise_scale * logarithm_above(1 / self.delta)


class NextCountMissing(TopLabels):
    """Only `candidates` counts are asked for, so that the next one seems to be 0."""

    __slots__ = ()

    def choose(self, counts, source=None):
        return TopLabels.choose(self, counts[: self.candidates], source)


class UnitIgnored(TopLabels):
    __slots__ = ()

    @property
    def noise_scale(self) -> Fraction:
        return 1 / self.epsilon


class HalvedNoise(TopLabels):
    __slots__ = ()

    @property
    def noise_scale(self) -> Fraction:
        return TopLabels.noise_scale.fget(self) / 2


class CheapLabels(TopLabels):
    """k labels for the price of k - 1."""

    __slots__ = ()

    @property
    def guarantee(self):
        return TopLabels(
            self.k - 1, self.candidates, epsilon=self.epsilon, delta=self.delta
        ).guarantee


@pytest.mark.parametrize(
    "bug",
    [ThresholdTooLow, OneLabelCounted, NextCountMissing, UnitIgnored, HalvedNoise, CheapLabels],
)
def test_planted_bugs_in_top_labels_are_caught(bug: type[TopLabels]) -> None:
    mechanism = bug(k=2, candidates=2, epsilon="0.5", delta="0.2", max_labels=2, max_count=2)
    pairs = neighbours(2, 2, 300, 1)[::-1]  # the worst ones come last
    assert any(max(breaches_of_top_labels(mechanism, *pair)) > 1e-3 for pair in pairs)


class ByInputOrder(LabelCounts):
    """Ties are broken by the order of rows."""

    @classmethod
    def from_counts(cls, labels, counts, **bounds):
        made = super().from_counts(labels, counts, **bounds)
        made.given = labels
        return made

    def largest(self, number: int):
        there = zip(self.given, self.counts_of(self.given), strict=True)
        rows = sorted((row for row in there if row[1]), key=lambda row: -row[1])[:number]
        return pa.table({"label": [label for label, _ in rows]})


def candidates_of(data: LabelCounts, number: int) -> set:
    return set(data.largest(number)["label"].to_pylist())


@pytest.mark.long(every=2)
@pytest.mark.quick("LabelCounts-1-30]")
@pytest.mark.parametrize("number", [30, 300])
@pytest.mark.parametrize(("kind", "most"), [(LabelCounts, 1), (ByInputOrder, 2)])
def test_one_user_changes_at_most_max_labels_candidates(kind: type, most: int, number: int) -> None:
    """Rows of ties in another order (as after one more record, in some engines) change more."""
    worst = 0
    for base, more in neighbours(1, 1, number, 2):
        sets = []
        for counts, order in ((base, list(LABELS)), (more, list(LABELS)[::-1])):
            data = counted(kind, tuple(order), tuple(counts[x] for x in order), 1, 1)
            sets.append(candidates_of(data, 2) if any(counts.values()) else set())
        worst = max(worst, len(sets[0] - sets[1]), len(sets[1] - sets[0]))
    assert worst == most


# Algorithm 4: two queries, the second chosen by the first's result.

PairOfTables = tuple[Counts, Counts]


def session_law(
    views: Sequence[Seen], others: Sequence[Seen], budget: int, finer: bool, null_is_free: bool
) -> dict:
    """Transcripts of one query for `budget` labels, then another for all that is left."""
    law: dict[tuple, float] = {}
    for first, chance in query_law(views[0], others[0], budget, finer).items():
        left = budget - sum(1 for x in first if x is not None or not null_is_free)
        spoiled = not set(first) <= {*LABELS, None}
        if left == 0 or spoiled:
            law[first, ()] = chance
            continue
        # Which table is asked next depends on what came back.
        which = 1 + (first[0] == "a")
        for second, more in query_law(views[which], others[which], left, finer).items():
            law[first, second] = chance * more
    assert sum(law.values()) == pytest.approx(1)
    return law


def query_law(view: Seen, other: Seen, k: int, finer: bool) -> dict:
    centers = renamed(view, other)[1] if finer else view.centers
    return ranking_law(centers, view.threshold, view.scale, k)


def breach_of_session(
    mechanism: TopLabels, tables: Sequence[PairOfTables], budget: int, null_is_free: bool
) -> float:
    """How far the divergence misses budget epsilon**2 / 8; domination and mass are asserted."""
    pairs = [[seen(mechanism, t[side]) for t in tables] for side in (0, 1)]
    orders = (pairs, pairs[::-1])
    laws = [session_law(*order, budget, True, null_is_free) for order in orders]  # type: ignore[arg-type, call-arg]
    released = [session_law(*order, budget, False, null_is_free) for order in orders]  # type: ignore[arg-type, call-arg]
    assert laws[0].keys() == laws[1].keys()
    for law, output in zip(laws, released, strict=True):
        kept = {y: p for y, p in law.items() if set(y[0] + y[1]) <= {*LABELS, None}}
        assert all(p <= output[y] + SLACK for y, p in kept.items())
        assert sum(kept.values()) >= 1 - 2 * float(mechanism.delta)
    vectors = [[law[y] for y in laws[0]] for law in laws]
    rho = budget * float(mechanism.epsilon) ** 2 / 8
    return max(
        renyi(p, q, order) - rho * order for order in ORDERS for p, q in (vectors, vectors[::-1])
    )


NARROW: dict[str, Any] = {"k": 1, "candidates": 1, "epsilon": 1, "delta": "0.2"}
WIDE = {"k": 2, "candidates": 2, "epsilon": 1, "delta": "0.2"}
EVEN = ({"a": 2}, {"a": 3})  # found or not with about the same chance
MOVED = [
    ({"a": 3, "b": 3, "c": 2}, {"a": 4, "b": 3, "c": 3}),
    ({"c": 9, "d": 1}, {"c": 9, "d": 2}),
    ({"b": 2, "c": 1, "d": 1}, {"b": 3, "c": 1, "d": 2}),
]


@pytest.mark.parametrize(
    ("parameters", "tables", "budget"),
    [(NARROW, [EVEN] * 3, 1), (NARROW, [EVEN] * 3, 2), (WIDE, MOVED, 2), (WIDE, MOVED, 3)],
)
def test_a_session_costs_its_budget(parameters: dict, tables: list, budget: int) -> None:
    assert breach_of_session(TopLabels(**parameters), tables, budget, False) <= SLACK


def test_a_null_row_for_free_is_caught() -> None:
    assert breach_of_session(TopLabels(**NARROW), [EVEN] * 3, 1, True) > 0.01


# Algorithm 2: noisy counts.

TOP_THRESHOLD = [
    {"k": 2, "epsilon": 1, "delta": "0.1", "max_labels": 1},
    {"k": 2, "epsilon": "0.5", "delta": "0.2", "max_labels": 2, "max_count": 3},
    {"k": 1, "epsilon": 2, "delta": "0.05", "max_labels": 1, "max_count": 5},
    {"k": 3, "epsilon": 1, "delta": "0.3", "max_labels": 3, "max_count": 2},
    {"k": 4, "epsilon": 1, "delta": "0.01", "max_labels": 2},
]


def chance_of_none_above(centers: Sequence[Fraction], stop: Fraction, scale: Fraction) -> float:
    """Pr[no b_j + N_j above the threshold + N], by integration over the threshold's noise."""
    z = np.linspace(-12, 12, 4001)
    inside = np.ones_like(z)
    for c in centers:
        inside *= norm.cdf(float((stop - c) / scale) + z)
    return float(np.sum(inside * norm.pdf(z)) * (z[1] - z[0]))


def breaches_of_top_threshold(
    mechanism: TopThreshold, one: Counts, other: Counts
) -> tuple[float, float]:
    """How far mass and divergence are missed. P~, Q~: all noisy numbers, ⊥'s included."""
    views = seen(mechanism, one), seen(mechanism, other)
    mass, both = -1.0, []
    for view, others in (views, views[::-1]):
        spare, centers = renamed(view, others)
        kept = chance_of_none_above([centers[x] for x in spare], view.threshold, view.scale)
        mass = max(mass, 1 - kept - float(mechanism.delta))
        # Centers were taken relative to the next count: undo that, to compare the two.
        both.append({x: c - view.empty for x, c in {**centers, "⊥": view.threshold}.items()})
    p, q = both
    assert p.keys() == q.keys()
    square = sum((p[x] - q[x]) ** 2 for x in p)
    # Renyi divergence of order a of N(p, s**2) from N(q, s**2): a |p - q|**2 / (2 s**2).
    return mass, float(square / (2 * views[0].scale ** 2) - mechanism.guarantee.rho)


def worst_of_top_threshold(mechanism: TopThreshold, number: int = 200) -> tuple[float, ...]:
    pairs = neighbours(mechanism.max_labels, mechanism.max_count, number, 3)
    found = [breaches_of_top_threshold(mechanism, *pair) for pair in pairs]
    return tuple(max(column) for column in zip(*found, strict=True))


@pytest.mark.long(every=2)
@pytest.mark.quick("parameters0")
@pytest.mark.parametrize("parameters", TOP_THRESHOLD)
def test_top_threshold_keeps_the_definition(parameters: dict) -> None:
    mass, divergence = worst_of_top_threshold(TopThreshold(**parameters))
    assert mass <= 1e-7
    assert divergence <= SLACK
    assert divergence >= -SLACK  # and none is wasted


def test_the_delta_of_top_threshold_is_used() -> None:
    mechanism = TopThreshold(2, epsilon=1, delta="0.1", max_labels=1)
    assert breaches_of_top_threshold(mechanism, {}, {"a": 1})[0] == pytest.approx(0, abs=1e-7)


class LowThreshold(TopThreshold):
    __slots__ = ()

    @property
    def threshold(self) -> Fraction:
        return TopThreshold.threshold.fget(self) - 1


class NoRootTwo(TopThreshold):
    __slots__ = ()

    @property
    def threshold(self) -> Fraction:
        return self.max_count + (TopThreshold.threshold.fget(self) - self.max_count) * 5 / 7


class NextMissing(TopThreshold):
    __slots__ = ()

    def measure(self, counts, source=None):
        return TopThreshold.measure(self, counts[: self.k], source)


class UnitForgotten(TopThreshold):
    __slots__ = ()

    @property
    def noise_scale(self) -> Fraction:
        return 1 / self.epsilon


@pytest.mark.parametrize("bug", [LowThreshold, NoRootTwo, NextMissing, UnitForgotten])
def test_planted_bugs_in_top_threshold_are_caught(bug: type[TopThreshold]) -> None:
    mechanism = bug(2, epsilon=1, delta="0.1", max_labels=1, max_count=2)
    pairs = neighbours(1, 2, 200, 3)[::-1]
    assert any(max(breaches_of_top_threshold(mechanism, *pair)) > 1e-3 for pair in pairs)


NOISE = {-4.0: 0.1, 0.0: 0.6, 4.0: 0.3}  # any law serves: domination does not depend on it


def scripted(size: int) -> Iterator[tuple[tuple[float, ...], float]]:
    for noise in itertools.product(NOISE, repeat=size):
        yield noise, math.prod(NOISE[z] for z in noise)


@pytest.mark.quick("parameters0")
@pytest.mark.parametrize("parameters", TOP_THRESHOLD[:3])
def test_what_is_released_dominates_the_renamed_law(parameters: dict) -> None:
    """By enumeration of all noise on a grid: the released table's law, and that on S of P~."""
    mechanism = TopThreshold(**parameters)
    for one, other in neighbours(mechanism.max_labels, mechanism.max_count, 12, 4):
        Recorder.script = None
        view, others = seen(mechanism, one), seen(mechanism, other)
        released: dict[tuple, float] = defaultdict(float)
        for noise, chance in scripted(len(view.centers) + 1):
            Recorder.script = noise
            value = mechanism.release(label_counts(one, mechanism)).value
            released[tuple(zip(value.labels, value.counts.tolist(), strict=True))] += chance
        spare, centers = renamed(view, others)
        for outcome, chance in restricted_law(view, centers, spare, mechanism).items():
            assert chance <= released[outcome] + SLACK


def restricted_law(view: Seen, centers: dict, spare: list[str], mechanism: TopThreshold) -> dict:
    """The law of the table made from all noisy numbers, where no b_j is above ⊥."""
    law: dict[tuple, float] = defaultdict(float)
    for noise, chance in scripted(len(centers) + 1):
        noisy = {x: float(c) + z for (x, c), z in zip(centers.items(), noise, strict=False)}
        above = {x: v for x, v in noisy.items() if v > float(view.threshold) + noise[-1]}
        if not above.keys() & set(spare):
            rows = [(x, math.floor(v - float(view.empty) + 0.5)) for x, v in above.items()]
            law[tuple(sorted(rows, key=lambda row: (-row[1], row[0])))] += chance
    return law


def changed_laws(
    mechanism: TopThreshold, larger: Counts, smaller: Counts, change: bool = True
) -> tuple[Seen, Seen, list[str], dict[str, Fraction], dict[str, Fraction]]:
    """Return both views, the differing candidates, and centers of P~ and of Q~.

    With `change`, the differing candidates have the centers of P~ in Q~ too (Lemma 8).
    """
    high, low = seen(mechanism, larger), seen(mechanism, smaller)
    spare, p = renamed(high, low)
    _, q = renamed(low, high)
    p = {x: c - high.empty for x, c in {**p, "⊥": high.threshold}.items()}
    q = {x: c - low.empty for x, c in {**q, "⊥": low.threshold}.items()}
    return high, low, spare, p, {**q, **{x: p[x] for x in spare}} if change else q


def of_changed_laws(
    mechanism: TopThreshold, larger: Counts, smaller: Counts, change: bool = True
) -> tuple[int, float, float]:
    """Return how many candidates differ, the squared distance, and the mass that is missing."""
    high, _, spare, p, q = changed_laws(mechanism, larger, smaller, change)
    square = sum((p[x] - q[x]) ** 2 for x in p) / high.scale**2
    kept = min(
        chance_of_none_above([law[x] for x in spare], law["⊥"], high.scale) for law in (p, q)
    )
    return len(spare), float(square), 1 - kept


def grown(mechanism: TopThreshold) -> list[tuple[Counts, Counts]]:
    """Neighbors, the larger first."""
    pairs = neighbours(mechanism.max_labels, mechanism.max_count, 40, 5)
    # One candidate is replaced, and becomes the next count; with three labels, the others grow too.
    pairs.append(({"a": 5, "b": 5, "c": 4, "d": 3}, {"a": 4, "b": 5, "c": 4, "d": 3}))
    if mechanism.max_labels > 2:
        by = mechanism.max_count
        flat = dict.fromkeys(LABELS, 5)
        pairs.append(({**flat, "b": 5 + by, "c": 5 + by}, {**flat, "a": 5 - by}))
    return [(a, b) for a, b in pairs if all(a[x] >= b[x] for x in b)]


def allowed(mechanism: TopThreshold, differing: int) -> float:
    """The squared distance of Lemma 8 for a number of differing candidates."""
    return float((mechanism.max_labels - max(differing - 1, 0)) * mechanism.epsilon**2)


ONE_RELEASE: list[dict] = [
    {"k": 1, "epsilon": 1, "delta": "0.1", "max_labels": 1},
    {"k": 2, "epsilon": "0.5", "delta": "0.1", "max_labels": 2, "max_count": 2},
    {"k": 3, "epsilon": 1, "delta": "0.2", "max_labels": 3},
    {"k": 3, "epsilon": 1, "delta": "0.3", "max_labels": 3, "max_count": 2},
]


@pytest.mark.quick("parameters0", "parameters2", every=2)
@pytest.mark.parametrize("parameters", ONE_RELEASE)
def test_one_release_of_top_counts_keeps_its_deltas(parameters: dict) -> None:
    mechanism = TopThreshold(**parameters)
    own, most = float(mechanism.delta), mechanism.max_labels
    reached = set()
    for pair in grown(mechanism):
        differing, square, missing = of_changed_laws(mechanism, *pair)
        assert missing <= own * differing / most + 1e-7
        assert square <= allowed(mechanism, differing) + SLACK
        if square > allowed(mechanism, differing) - SLACK:
            reached.add(differing)
    assert {0, 1} <= reached  # so nothing smaller holds of the distance


@pytest.mark.verify
@pytest.mark.parametrize("parameters", ONE_RELEASE[1:])
def test_wrong_distances_of_top_counts_are_caught(parameters: dict) -> None:
    mechanism = TopThreshold(**parameters)
    found = [of_changed_laws(mechanism, *pair) for pair in grown(mechanism)]
    each = float(mechanism.epsilon**2)
    assert any(square > (mechanism.max_labels - b) * each + SLACK for b, square, _ in found)
    unchanged = [of_changed_laws(mechanism, *pair, change=False) for pair in grown(mechanism)]
    assert any(square > allowed(mechanism, b) + SLACK for b, square, _ in unchanged)


@pytest.mark.quick("parameters0")
@pytest.mark.parametrize("parameters", ONE_RELEASE[:2])
def test_what_is_released_dominates_the_changed_law(parameters: dict) -> None:
    """By enumeration of all noise on a grid: the smaller table's release, and Q~ on S."""
    mechanism = TopThreshold(**parameters)
    pairs = grown(mechanism)
    for larger, smaller in pairs[:3] + pairs[-1:]:
        Recorder.script = None
        _, low, spare, _, q = changed_laws(mechanism, larger, smaller)
        released: dict[tuple, float] = defaultdict(float)
        for noise, chance in scripted(len(low.centers) + 1):
            Recorder.script = noise
            value = mechanism.release(label_counts(smaller, mechanism)).value
            released[tuple(zip(value.labels, value.counts.tolist(), strict=True))] += chance
        centers = {x: c + low.empty for x, c in q.items() if x != "⊥"}
        for outcome, chance in restricted_law(low, centers, spare, mechanism).items():
            assert chance <= released[outcome] + SLACK
