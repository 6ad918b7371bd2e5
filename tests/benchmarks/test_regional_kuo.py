"""The method of Kuo et al. as the benchmark has it."""

import itertools

import numpy as np
import pytest
from benchmarks.regional_kuo import Estimate, estimate_hc, fit_l1, match, release, split

from dphist import RegionalProfile
from dphist.data.open_data import open_regions

CERTAIN = 60.0  # an epsilon with which there is no noise


def test_fitted_numbers_are_nearest_in_l1() -> None:
    draw = np.random.default_rng(0)
    choices = np.array(list(itertools.combinations_with_replacement(range(-2, 3), 6)))
    for _ in range(50):
        noisy = draw.integers(-2, 3, 6)
        found = fit_l1(noisy)
        assert (np.diff(found) >= 0).all()
        assert np.abs(found - noisy).sum() == np.abs(choices - noisy).sum(axis=1).min()


def test_error_at_the_top_is_that_of_one_noisy_sequence() -> None:
    """Rounding aside, no label is lost: the number of labels is public."""
    counts = np.random.default_rng(1).geometric(0.05, 2000)
    found = estimate_hc(counts, 1.0, 300, np.random.default_rng(2))
    assert found.counts.size == counts.size
    error = np.abs(np.sort(found.counts) - np.sort(counts)).sum()
    assert 0 < error < 300


@pytest.mark.parametrize("number", [0, 3, 6, 9])
def test_labels_are_dealt_in_proportion(number: int) -> None:
    assert sum(split([3, 6, 0], number)) == number
    assert split([3, 6, 0], number)[1] == 2 * number // 3


def test_matched_counts_are_averaged_by_their_variances() -> None:
    above = Estimate(np.array([2.0, 10.0]), {2: 1.0, 10: 3.0})
    below = [Estimate(np.array([14.0]), {14: 1.0}), Estimate(np.array([4.0]), {4: 1.0})]
    first, second = match(above, below)
    assert first.counts == pytest.approx([13.0])
    assert first.variances == pytest.approx({13: 0.75})
    assert second.counts == pytest.approx([3.0])


@pytest.mark.parametrize("largest", [None, 50])
def test_without_noise_every_level_is_exact(largest: int | None) -> None:
    counts = {"a": [1, 1, 7], "b": [3], "c": [2, 50], "d": [1, 9, 9]}
    data = RegionalProfile.from_counts(counts, regions={"left": ["a", "b"], "right": ["c", "d"]})
    opened = open_regions(data)
    found = release(opened, CERTAIN, largest, np.random.default_rng(3))
    for path in [(), *data.regions.regions]:
        assert opened.unite(path).distance(found.all if path == () else found[path]) == 0
