"""Bands: simultaneous, from the noise alone, holding as often as they say."""

import math
from fractions import Fraction

import numpy as np
import pytest

import dphist as dh
from dphist import Profile
from dphist.anonymized import measuring
from dphist.anonymized.partition_sampler.radius import minus_log_above, radius
from dphist.anonymized.priv_hist.decoding import bound_split
from dphist.data.diagram import Diagram
from dphist.noise.magnitude import (
    geometric_log_magnitude,
    geometric_simultaneous_bound,
    geometric_standard_deviation,
    geometric_stopped_bound,
    geometric_upper_bound,
)
from tests.support.privacy.laws import Scripted


def encloses(lower: Diagram, upper: Diagram, truth: Diagram) -> bool:
    """Whether every sorted count of the truth lies between those of the other two."""
    r = np.union1d(np.union1d(lower.counts, upper.counts), truth.counts)
    low, high = lower.cumulative_prevalences(r), upper.cumulative_prevalences(r)
    middle = truth.cumulative_prevalences(r)
    return bool(np.all(low <= middle) and np.all(middle <= high))


CASES = {
    "rank split": lambda: dh.RankSplit(epsilon="0.5"),
    "public total": lambda: dh.RankSplit(epsilon="0.5", total=2000),
    "sorted counts": lambda: dh.SortedCounts(epsilon="0.5", labels=60),
    "sorted only": lambda: dh.SortedCounts(epsilon="0.5", labels=60, inference="sort"),
    "two cells": lambda: dh.RankSplit(epsilon="0.5", sensitivity=2),
    "cumulative": lambda: dh.CumulativeCounts(epsilon="0.5", largest=400),
    "no smoothing": lambda: dh.PrivHist(epsilon="0.5"),
    "smoothing": lambda: dh.PrivHist(epsilon="0.5", shares=(1, 1, 1)),
    "own boundaries": lambda: dh.PrivHist(epsilon=1, shares=(1, 1, 8)),
    "empty": lambda: dh.PrivHist(epsilon="0.05", shares=(1, 1, 1)),
    "adaptive scan": lambda: dh.AdaptiveScan(epsilon="0.5"),
    "wide blocks": lambda: dh.AdaptiveScan(epsilon="0.05"),
    "partition": lambda: dh.PartitionSampler(epsilon="0.5", delta=1e-9),
}


# Averaging over long runs, or a bound on the whole distance, makes these far too wide.
NEVER_FAILS = ("cumulative", "partition")


@pytest.mark.long(every=4)
@pytest.mark.quick(
    "own boundaries",
    "smoothing",
    "empty",
    "two cells",
    "rank split",
    "public total",
    "cumulative",
    "sorted",
    every=5,
)
@pytest.mark.parametrize("name", CASES)
def test_band_holds_as_often_as_it_says(name, seeded) -> None:
    """400 runs at level 0.8: fewer than 285 successes have probability below 1e-4."""
    truth = Profile.from_prevalences([1, 2, 5, 60, 300], [40, 9, 5, 3, 2])
    mechanism, source = CASES[name](), seeded(1)
    held = 0
    for _ in range(400):
        release = mechanism.release(truth, source)
        band = mechanism.band(release, level=0.8)
        held += encloses(band.lower, band.upper, truth)
        assert encloses(band.lower, band.upper, release.value)
    assert held >= 285
    assert held < 400 or name in NEVER_FAILS  # a band that never fails is too wide


def test_a_band_of_a_third_of_the_width_would_be_noticed(seeded) -> None:
    truth = Profile.from_prevalences([1, 2, 5, 60, 300], [40, 9, 5, 3, 2])
    mechanism, source = CASES["sorted only"](), seeded(1)
    narrow = dh.SortedCounts(epsilon="1.5", labels=60, inference="sort")
    held = 0
    for _ in range(400):
        release = mechanism.release(truth, source)
        band = narrow.band(release, level=0.8)
        held += encloses(band.lower, band.upper, truth)
    assert held < 285


def test_bound_holds_however_many_draws_there_are(seeded) -> None:
    """Stopped, from draw 50 on, at the first number of draws for which the bound fails, if any."""
    rate = Fraction(1, 2)
    noise = np.abs(dh.noise.two_sided_geometric(rate, (1000, 1500), seeded(1)))
    largest = np.maximum.accumulate(noise, axis=1)
    numbers = np.arange(50, 1500)
    bounds = np.array([geometric_stopped_bound(rate, int(n), 0.2) for n in numbers])
    assert (largest[:, numbers - 1] > bounds).any(axis=1).mean() < 0.2
    fixed = np.array([geometric_simultaneous_bound(rate, int(n), 0.2) for n in numbers])
    assert (largest[:, numbers - 1] > fixed).any(axis=1).mean() > 0.3  # which would not do


def zipf_drawn(labels: int, exponent: float) -> Profile:
    """A profile of counts drawn around a power law."""
    means = labels / np.arange(1, labels + 1) ** exponent
    counts = np.random.default_rng(5).poisson(means)
    return Profile.from_counts(counts[counts > 0])


def covered(truth: Diagram, lower: Diagram, upper: Diagram) -> float:
    """What part of ranks, evenly spaced on a logarithmic axis, has its count between two others."""
    ranks = np.unique(np.geomspace(1, truth.labels, 200).astype(np.int64))
    low, true, high = (p.conjugate().cumulative_prevalences(ranks) for p in (lower, truth, upper))
    return float(np.mean((low <= true) & (true <= high)))


@pytest.mark.long(every=4)
@pytest.mark.parametrize("epsilon", ["1", "0.1", "0.01"])
@pytest.mark.parametrize("exponent", [0.7, 1, 1.3])
def test_error_bars_cover_about_as_much_as_they_say(epsilon, exponent, seeded) -> None:
    truth, mechanism = zipf_drawn(20_000, exponent), dh.AdaptiveScan(epsilon=epsilon)
    parts: dict[float, list[float]] = {0.5: [], 0.95: []}
    source, narrow, wide = seeded(1), [], []
    for _ in range(10):
        release = mechanism.release(truth, source)
        for level, part in parts.items():
            bars = mechanism.pointwise_band(release, level)
            assert encloses(bars.lower, bars.upper, release.value)
            part.append(covered(truth, bars.lower, bars.upper))
        band = mechanism.band(release)
        narrow.append(bars.lower.distance(bars.upper))
        wide.append(band.lower.distance(band.upper))
    assert 0.9 <= np.mean(parts[0.95]) <= 0.998
    assert 0.45 <= np.mean(parts[0.5]) <= 0.85  # whole counts are often exactly right
    assert np.mean(narrow) < np.mean(wide) / 3


@pytest.mark.parametrize("counts", [[], [1], [2**61], [1] * 1000, [5] * 3])
@pytest.mark.parametrize("epsilon", ["0.001", "1", "50"])
def test_error_bars_of_small_tables(counts, epsilon, seeded) -> None:
    mechanism = dh.AdaptiveScan(epsilon=epsilon)
    release = mechanism.release(Profile.from_counts(counts), seeded(3))
    bars = mechanism.pointwise_band(release)
    assert encloses(bars.lower, bars.upper, release.value)
    with pytest.raises(dh.ParameterError, match="level"):
        mechanism.pointwise_band(release, 1)


def test_mechanisms_without_error_bars_say_so(seeded) -> None:
    mechanism = dh.RankSplit(epsilon=1)
    assert mechanism.pointwise_band(mechanism.release(Profile.from_counts([3]), seeded(1))) is None


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_sampler_s_band_reaches_the_farthest_truth(level: float) -> None:
    """Nothing was drawn, from a truth of which nothing is just within the radius."""
    mechanism, farthest = dh.PartitionSampler(epsilon=2, delta=1e-9), 0
    log_mass = minus_log_above(1 - Fraction(level))
    while (wider := radius(farthest, mechanism.rate, log_mass)) > farthest:
        farthest = wider
    release = dh.Release(dh.AnonymizedHistogram([], []), mechanism.guarantee, mechanism)
    band = mechanism.band(release, level)
    for truth in ([farthest], [1] * farthest):
        assert encloses(band.lower, band.upper, Profile.from_counts(truth))
    assert not encloses(band.lower, band.upper, Profile.from_counts([farthest + 1]))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_band_of_cumulative_counts_holds_for_the_largest_noise(sign, monkeypatch) -> None:
    mechanism = dh.CumulativeCounts(epsilon="0.5", largest=20)
    t = geometric_simultaneous_bound(mechanism.cell_epsilon, 20, 0.05)
    truth = Profile.from_prevalences([20], [3 * t])
    monkeypatch.setattr(measuring, "two_sided_geometric", Scripted([sign * t]))
    band = mechanism.band(mechanism.release(truth), 0.95)
    assert encloses(band.lower, band.upper, truth)


@pytest.mark.parametrize(("counts", "noise"), [([1000], [-30, None, -5]), ([4], [-30])])
def test_the_band_allows_for_the_noise_of_the_total(counts, noise, monkeypatch) -> None:
    """A truth longer than the private total, and one of which nothing is left."""
    truth, mechanism = Profile.from_counts(counts), dh.PrivHist(epsilon=1, shares=(1, 9, 0))
    monkeypatch.setattr(measuring, "two_sided_geometric", Scripted(noise))
    band = mechanism.band(mechanism.release(truth))
    assert encloses(band.lower, band.upper, truth)


def test_rows_that_were_not_measured_are_in_the_band() -> None:
    """Two noisy rows, but t says that four labels may be above T: as long as the last, plus t."""
    columns, rows = np.array([3]), np.array([50, 40])
    _, upper = bound_split(columns, rows, above=2, fakes=0, t=2, most=100)
    assert upper.cumulative_prevalences([52, 42, 43]).tolist() == [1, 4, 1]
    _, upper = bound_split(columns, rows[:0], above=-1, fakes=0, t=2, most=100)
    assert upper.cumulative_prevalences([100, 101]).tolist() == [1, 0]


def test_band_does_not_depend_on_the_data(seeded) -> None:
    """Two data sets with equal noisy counts get equal bands."""
    mechanism = dh.RankSplit(epsilon=1, total=100)
    release = mechanism.release(Profile.from_counts([30, 20, 5]), seeded(1))
    again = dh.Release.from_json(release.to_json())
    first, second = mechanism.band(release), again.mechanism.band(again)
    assert (first.lower, first.upper) == (second.lower, second.upper)


@pytest.mark.parametrize("epsilon", ["4", "1", "0.1"])
def test_magnitudes_match_the_sampler(epsilon, seeded) -> None:
    exact = dh.PureDP(epsilon).epsilon
    samples = dh.noise.two_sided_geometric(exact, 400_000, seeded(1))
    assert samples.std() == pytest.approx(geometric_standard_deviation(exact), rel=0.03)
    assert math.log(np.abs(samples).mean()) == pytest.approx(
        geometric_log_magnitude(exact), abs=0.03
    )
    for probability in (0.2, 0.01):
        t = geometric_upper_bound(exact, probability)
        assert (samples > t).mean() <= probability * 1.1
        assert t == 0 or (samples > t - 1).mean() > probability * 0.9
    t = geometric_simultaneous_bound(exact, 50, 0.3)
    missed = (np.abs(samples).reshape(-1, 50) > t).any(axis=1).mean()
    assert missed <= 0.33
