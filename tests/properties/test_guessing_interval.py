"""The lower end of `guessing` from a release: what noise may have made is not taken for real."""

import math

import numpy as np
import pytest

from dphist import AnonymizedHistogram, Profile, anonymize
from dphist.anonymized.reference import as_data
from dphist.data.diagram import Diagram
from dphist.properties import guessing
from dphist.properties.guessing import (
    FEWEST_EVEN,
    _highest,
    clopper_pearson,
    compute_held_out_share,
    interval_with_noise,
)
from dphist.properties.resampling import even_releases, make_even_population
from dphist.properties.sampling import Population
from tests.support.histograms import histogram_of

FLAT, PEAKED = AnonymizedHistogram([1, 2], [60, 20]), histogram_of([30, 20, *[1] * 50])
MORE_PEAKED = histogram_of([35, 25, *[1] * 50])
EVEN = Population(np.array([1 / 100]), np.array([100.0]))
LIKELY = Population(np.array([0.005, 0.2, 0.3]), np.array([100.0, 1.0, 1.0]))


def shares(profile: Diagram) -> float:
    return float(profile.sorted_counts()[:2].sum()) / profile.total


def low_end(released: AnonymizedHistogram, even_releases_: list[AnonymizedHistogram]) -> float:
    """Lower end for two guesses, where releases of the likeliest population are more peaked."""
    likeliest = tuple((as_data(PEAKED), MORE_PEAKED) for _ in range(20))
    even = tuple((as_data(FLAT), each) for each in even_releases_)
    sampling = compute_held_out_share(released, 2) - 0.05, 1.0
    low, _ = interval_with_noise(sampling, released, 2, shares, (LIKELY, likeliest), (EVEN, even))
    return low


def test_peaks_that_noise_makes_of_even_labels_say_nothing() -> None:
    """One release of 39 even ones has the peaks: the share may be that of an even population."""
    assert low_end(PEAKED, [*[FLAT] * 38, PEAKED]) == clopper_pearson(0.02, PEAKED.total)[0]


def test_peaks_that_noise_does_not_make_are_real() -> None:
    """Then the end is that of the sampling, as without an even population."""
    found = low_end(PEAKED, [FLAT] * 39)
    moved = compute_held_out_share(MORE_PEAKED, 2) - compute_held_out_share(PEAKED, 2)
    assert found == pytest.approx(compute_held_out_share(PEAKED, 2) - 0.05 - moved)


def test_between_them_the_end_is_between() -> None:
    """The larger the peaks that noise makes of even labels, the lower it is."""
    counts = [[c, c, *[1] * 50] for c in (1, 10, 14, 18, 20, 22, 24)]
    ends = [low_end(PEAKED, [*[FLAT] * 38, histogram_of(each)]) for each in counts]
    assert ends == sorted(ends, reverse=True)
    assert len(set(ends)) > 4


@pytest.mark.verify
def test_the_highest_of_39_is_exceeded_with_probability_one_in_forty() -> None:
    """Skewed as noise is: exponential values, and a normal quantile would be too low."""
    random, above, runs = np.random.default_rng(3), 0, 400
    for _ in range(runs):
        values = iter(np.rint(1000 * random.exponential(size=FEWEST_EVEN + 1) ** 2).astype(int) + 1)
        pairs = [(as_data(FLAT), histogram_of([next(values)])) for _ in range(FEWEST_EVEN)]
        above += next(values) > _highest(lambda profile: float(profile.total), tuple(pairs))
    assert above <= 0.025 * runs + 3 * math.sqrt(0.025 * runs)


@pytest.mark.usefixtures("repeatable")
def test_even_populations_are_as_large_and_their_runs_differ_by_release() -> None:
    profile = Profile.from_prevalences([1, 2, 3], [200, 40, 5])
    first, second = (anonymize(profile, epsilon="0.5") for _ in range(2))
    population = make_even_population(first)
    assert population.share_of_top(10) == pytest.approx(10 / population.labels[0])
    pairs = even_releases(first, 10)
    totals = [sample.total for sample, _ in pairs]
    assert np.mean(totals) == pytest.approx(first.value.total, abs=4 * math.sqrt(30))
    assert even_releases(first, 10) == pairs
    assert [sample for sample, _ in even_releases(second, 10)] != [sample for sample, _ in pairs]


def test_no_guesses_open_nothing() -> None:
    release = anonymize(as_data(PEAKED), epsilon=1)
    assert guessing(release, guesses=0, resamples=10).interval == (0.0, 0.0)
