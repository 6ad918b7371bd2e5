"""TopThreshold: its threshold, what it releases, and the chance with which it does."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest, norm

from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, ParameterError
from dphist.labels.top_threshold import TopThreshold
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.noise.inversion import Source
from dphist.noise.lazy import GAUSSIAN, LazyNoise
from dphist.privacy import ApproxZCDP
from dphist.release.release import Release
from tests.support.goodness import LEVEL, chi_square_p

Make = Callable[[int], Source]


def label_counts(counts: dict, max_labels: int | None = 1, max_count: int = 1) -> LabelCounts:
    return LabelCounts.from_counts(
        list(counts), list(counts.values()), max_labels=max_labels, max_count=max_count
    )


@pytest.mark.long(every=2)
@pytest.mark.parametrize(
    ("max_count", "epsilon", "counts", "k"),
    [(1, "1", [1], 3), (1, "1", [4, 3, 3], 1), (3, "0.5", [9, 8, 2], 2)],
)
def test_labels_are_released_with_the_stated_chance(
    max_count: int, epsilon: str, counts: list[int], k: int, seeded: Make
) -> None:
    mechanism = TopThreshold(k, epsilon=epsilon, delta="0.2", max_labels=1, max_count=max_count)
    assert rates_p(mechanism, mechanism, counts, seeded(1)) > LEVEL


def rates_p(right: TopThreshold, drawn: TopThreshold, counts: list[int], source: Source) -> float:
    """Least binomial p-value of the released shares: c + N > T + next + N', real numbers."""
    runs = 8000
    seen = [0] * len(counts)
    for _ in range(runs):
        for i, _ in drawn.measure(counts, source):
            seen[i] += 1
    next_count = counts[right.k] if len(counts) > right.k else 0
    scale = math.sqrt(2) * right.max_count / float(right.epsilon)
    limit = right.max_count + scale * norm.isf(float(right.delta) / right.max_labels)
    chances = [norm.sf((limit - c + next_count) / scale) for c in counts[: right.k]]
    p = [binomtest(s, runs, c).pvalue for s, c in zip(seen, chances, strict=False)]
    assert seen[right.k :] == [0] * len(seen[right.k :])
    return min(p)


class QuietThreshold(TopThreshold):
    __slots__ = ()

    def measure(self, counts, source=None):
        noise = LazyNoise(GAUSSIAN, self.noise_scale, counts[: self.k], source)
        limit = counts[self.k] + self.threshold
        return [(i, noise.rounded(i)) for i in range(self.k) if noise._low[i] > limit]


class OneTooFew(TopThreshold):
    __slots__ = ()

    def measure(self, counts, source=None):
        return TopThreshold.measure(self, [*counts[: self.k], counts[self.k - 1]], source)


class RoundedFirst(TopThreshold):
    """The rounded counts are compared, as the papers' code does."""

    __slots__ = ()

    def measure(self, counts, source=None):
        centers = [*counts[: self.k], counts[self.k] + self.threshold]
        noise = LazyNoise(GAUSSIAN, self.noise_scale, centers, source)
        values = [noise.rounded(i) for i in range(self.k + 1)]
        return [(i, v) for i, v in enumerate(values[:-1]) if v > values[-1]]


class NoRootTwo(TopThreshold):
    __slots__ = ()

    @property
    def threshold(self):
        return self.max_count + (TopThreshold.threshold.fget(self) - self.max_count) * 5 / 7


@pytest.mark.quick("NoRootTwo", "QuietThreshold", every=2)
@pytest.mark.parametrize("bug", [QuietThreshold, OneTooFew, RoundedFirst, NoRootTwo])
def test_wrong_rules_are_noticed(bug: type[TopThreshold], seeded: Make) -> None:
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "0.2", "max_labels": 1}
    right, wrong = TopThreshold(2, **parameters), bug(2, **parameters)
    assert rates_p(right, wrong, [6, 4, 3], seeded(2)) < LEVEL


@pytest.mark.verify
def test_released_counts_are_noisy_ones_rounded(seeded: Make) -> None:
    mechanism = TopThreshold(2, epsilon="1/4", delta="1e-6", max_labels=1)
    source = seeded(3)
    runs = [dict(mechanism.measure([5000, 300, 7], source)) for _ in range(8000)]
    for place, count in [(0, 5000), (1, 300)]:
        errors = pd.Series([run[place] - count for run in runs]).to_numpy()
        assert chi_square_p(errors, lambda z: norm.sf((z - 0.5) / 4)) > LEVEL
        assert chi_square_p(errors, lambda z: norm.sf((z - 0.5) / 5)) < LEVEL
        assert chi_square_p(errors + 1, lambda z: norm.sf((z - 0.5) / 4)) < LEVEL


def test_rows_come_by_released_count_then_label(seeded: Make) -> None:
    mechanism = TopThreshold(50, epsilon=2, delta="1e-6", max_labels=1)
    counts = {f"w{i:02}": 1000 for i in range(40)}
    shuffled = dict(random.Random(1).sample(list(counts.items()), 40))
    for seed in range(10):
        value = mechanism.release(label_counts(counts), seeded(seed)).value
        rows = list(zip(-value.counts, value.labels, strict=True))
        assert rows == sorted(rows)
        assert len(set(value.counts.tolist())) < 40  # there were ties to break
        assert mechanism.release(label_counts(shuffled), seeded(seed)).value == value


def test_only_the_largest_counts_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = LabelCounts.largest

    def counted(self, number):
        asked.append(number)
        return original(self, number)

    monkeypatch.setattr(LabelCounts, "largest", counted)
    monkeypatch.delattr(LabelCounts, "filter_batches")
    TopThreshold(3, epsilon=1, delta="0.1", max_labels=1).release(
        label_counts(dict.fromkeys("abcdef", 9))
    )
    assert asked == [4]


def test_nothing_found_is_an_empty_table(seeded: Make) -> None:
    mechanism = TopThreshold(3, epsilon=1, delta="1e-9", max_labels=1)
    value = mechanism.release(label_counts({"a": 1}), seeded(1)).value
    assert value.labels == []
    assert value.counts.tolist() == []


@pytest.mark.verify
def test_counts_near_the_largest_integers_do_not_wrap(seeded: Make) -> None:
    mechanism = TopThreshold(2, epsilon="1e-6", delta="0.1", max_labels=1)
    value = mechanism.release(
        label_counts({"a": 2**62 - 1, "b": 2**61, "c": 2**61}), seeded(1)
    ).value
    assert 2**62 - 10**7 < value.counts[0] < 2**62  # the largest that is released
    assert (
        max(
            count
            for seed in range(20)
            for _, count in mechanism.measure([2**62 - 1, 2**61, 2**61], seeded(seed))
        )
        == 2**62 - 1
    )
    assert TopThreshold(1, epsilon=1, delta="0.1", max_labels=1).release(
        label_counts({"a": 2**60 + 1}), seeded(1)
    ).value.counts[0] == pytest.approx(2**60, abs=10)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_welcome(frame, seeded: Make) -> None:
    data = frame({"label": ["x", "y", "x"], "count": [500, 10**6, 500]})
    value = TopThreshold(epsilon=1, delta="1e-6", max_labels=2).release(data, seeded(1)).value
    assert value.labels == ["y", "x"]


def test_what_is_saved_is_loaded(tmp_path, seeded: Make) -> None:
    mechanism = TopThreshold(5, epsilon="1/3", delta="1e-6", max_labels=2, max_count=3)
    release = mechanism.release(label_counts({"a": 1000, "b": 500}, 2, 3), seeded(1))
    release.save(tmp_path / "r.json")
    assert Release.load(tmp_path / "r.json") == release


def test_the_guarantee_is_known_before_data() -> None:
    mechanism = TopThreshold(k=100, epsilon="0.2", delta="1e-6", max_labels=10, max_count=4)
    assert mechanism.guarantee == ApproxZCDP("0.2", "1e-6", unit="user")


@pytest.mark.parametrize(
    ("parameters", "sigma", "p"),
    [
        ({"epsilon": 1, "delta": "1e-6", "max_labels": 10}, 1, "1e-7"),
        ({"epsilon": "0.1", "delta": "1e-9", "max_labels": 1, "max_count": 5}, 50, "1e-9"),
        ({"epsilon": 2, "delta": "0.4", "max_labels": 1}, 0.5, "0.4"),
        ({"epsilon": 1, "delta": "1e-140", "max_labels": 1}, 1, "1e-140"),
    ],
)
def test_the_threshold_is_the_papers_rounded_up(parameters: dict, sigma: float, p: str) -> None:
    found = TopThreshold(**parameters).threshold
    with mpmath.workdps(160):
        quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(p))
        true = parameters.get("max_count", 1) + mpmath.sqrt(2) * sigma * quantile
        assert 0 <= mpmath.mpf(found.numerator) / found.denominator - true < 1e-7 * sigma


def test_a_large_delta_leaves_the_bound() -> None:
    assert TopThreshold(epsilon=1, delta="0.9", max_labels=1).threshold == 1


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"k": 0}, "k"),
        ({"k": 1.0}, "k"),
        *(({"epsilon": e}, "epsilon") for e in (0, -1, math.nan, math.inf, "x", "1e-30", 10**6)),
        *(({"delta": d}, "delta") for d in (0, 1, math.nan, "x", None)),
        ({"max_labels": 0}, "max_labels"),
        ({"max_labels": None}, "max_labels"),
        ({"max_count": -1}, "max_count"),
    ],
)
def test_bad_parameters_are_refused_at_once(wrong: dict, name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        TopThreshold(**{"epsilon": 1, "delta": "1e-6", "max_labels": 3, **wrong})


@pytest.mark.parametrize("bounds", [(4, 2), (None, 2), (3, 3)])
def test_bounds_of_the_data_must_be_protected(bounds: tuple) -> None:
    mechanism = TopThreshold(epsilon=1, delta="0.1", max_labels=3, max_count=2)
    with pytest.raises(BoundsError) as caught:
        mechanism.release(label_counts({"sentinel": 987654}, *bounds))
    assert "sentinel" not in str(caught.value)
    assert "987654" not in str(caught.value)
    mechanism.release(label_counts({"a": 5}, 3, 2))


def test_its_epsilon_is_exact() -> None:
    """Several releases pay for thresholds and noise, one for little more than the larger."""
    delta, own = Fraction("1e-6"), Fraction("6e-7")
    made = TopThreshold(10, epsilon="0.07", delta=own, max_labels=10)
    square = 10 * made.epsilon**2
    assert made.epsilon_at(delta) == gaussian_epsilon(square, delta - own / 10)
    assert made.epsilon_at(2 * delta, 2) == gaussian_epsilon(2 * square, 2 * delta - 2 * own)
    assert made.epsilon_at(own) is None
    # Just above the threshold's own delta: all labels are new, and the next count moves.
    nearly = own * (1 + Fraction(1, 10**50))
    assert made.epsilon_at(nearly) == gaussian_epsilon(made.epsilon**2, nearly - own)
    # One label may replace a candidate and raise the next count: a sum.
    single = TopThreshold(10, epsilon="0.2", delta=own, max_labels=1)
    assert single.epsilon_at(delta) == gaussian_epsilon(single.epsilon**2, delta - own)
    shown = made.guarantee.to_approx_dp(delta).epsilon
    assert made.to_approx_dp(delta).epsilon < 0.93 * shown
