"""Chao and Jost's extrapolation: numbers that iNEXT publishes, and formulas by hand."""

import math

import numpy as np
import pytest

from dphist import Profile
from dphist.properties import support_coverage
from dphist.properties.chao import new_labels

# Spiders under girdled and logged hemlocks (Ellison et al. 2010; `data(spider)` in iNEXT).
GIRDLED = [46, 22, 17, 15, 15, 9, 8, 6, 6, 4] + [2] * 4 + [1] * 12
LOGGED = [88, 22, 16, 15, 13, 10, 8, 8, 7, 7, 7, 5, 4, 4, 4, 3, 3, 3, 3] + [2] * 4 + [1] * 14


@pytest.mark.parametrize(("size", "species"), [(248, 30.883), (336, 34.731)])
def test_species_are_those_of_the_manual(size: int, species: float) -> None:
    """`iNEXT(spider, q=0)`: 26 species of 168 spiders, and these of larger samples."""
    profile = Profile.from_counts(GIRDLED)
    assert (profile.total, profile.labels) == (168, 26)
    found = support_coverage(profile, extra=f"{size - 168}/168", method="chao-jost").value
    assert 26 + found == pytest.approx(species, abs=0.0005)


@pytest.mark.parametrize(("counts", "richness"), [(GIRDLED, 43.893), (LOGGED, 61.403)])
def test_it_ends_at_the_published_richness(counts: list[int], richness: float) -> None:
    profile = Profile.from_counts(counts)
    assert profile.labels + new_labels(profile, 1e6)[0] == pytest.approx(richness, abs=0.0005)


def test_by_hand() -> None:
    """f1 = 4, f2 = 1, n = 10: f0 = 0.9 * 8 = 7.2, and 1 - 4/76 per further record."""
    profile = Profile.from_counts([4, 2, 1, 1, 1, 1])
    assert new_labels(profile, 1)[0] == pytest.approx(7.2 * (1 - (72 / 76) ** 10))
    # Without doubletons: f0 = 0.9 * 4 * 3/2 = 5.4.
    single = Profile.from_counts([6, 1, 1, 1, 1])
    assert new_labels(single, 0.5)[0] == pytest.approx(5.4 * (1 - (54 / 58) ** 5))
    for counts in ([], [5, 5], [1], [7, 1]):
        assert new_labels(Profile.from_counts(counts), 1)[0] == 0


def test_labels_of_one_probability_are_continued_exactly() -> None:
    """Of expected counts: k labels of rate m leave k exp(-m) unseen."""
    k, m = 10**9, 1.5
    counts = np.arange(1, 40)
    logs = counts * math.log(m) - m - np.array([math.lgamma(r + 1) for r in counts])
    profile = Profile.from_prevalences(
        counts, np.maximum(np.round(k * np.exp(logs)), 1).astype(int)
    )
    for extra in (0.5, 1.0, 2.0):
        expected = k * math.exp(-m) * -math.expm1(-m * extra)
        assert new_labels(profile, extra)[0] == pytest.approx(expected, rel=1e-4)


def test_the_error_is_that_of_samples() -> None:
    random, law = np.random.default_rng(4), np.full(1000, 1e-3)
    found = [
        support_coverage(
            Profile.from_counts(random.multinomial(1500, law)), extra=1, method="chao-jost"
        )
        for _ in range(300)
    ]
    spread = np.std([each.value for each in found])
    assert np.mean([each.standard_error or 0.0 for each in found]) == pytest.approx(spread, rel=0.2)
    assert "lower bound" in found[0].notes[1]
    assert found[0].method == "chao-jost"
