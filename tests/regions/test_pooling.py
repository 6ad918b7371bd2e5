"""Leaves moved towards the sums of their noisy numbers: small ones, and large ones hardly."""

import random
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.anonymized.band import from_heights
from dphist.regions import pooling
from dphist.regions.histograms import RegionalHistograms, unite
from dphist.regions.pooling import decode_sums, pool_leaves, sum_scans
from dphist.regions.scans import split_scans

NAMES = [f"leaf {place}" for place in range(60)]


def small_leaves(many: int = 60, size: int = 40, seed: int = 1) -> dh.RegionalProfile:
    """Labels of which most have one record, and some have tens, in every leaf alike."""
    draw = np.random.default_rng(seed)
    counts = {name: np.minimum(draw.zipf(2.2, size), 60) for name in NAMES[:many]}
    return dh.RegionalProfile.from_counts(counts, regions=NAMES[:many])


def truth(data: dh.RegionalProfile) -> dh.Profile:
    return dh.Profile.from_counts(np.concatenate([leaf.sorted_counts() for leaf in data.leaves]))


def decode_apart(release: dh.Release) -> list[Any]:
    mechanism = release.mechanism
    scans = split_scans(release.noisy, len(mechanism.regions.leaves))
    return [mechanism.leaf_scan.decode(scan) for scan in scans]


def errors(data: dh.RegionalProfile, epsilon: str, runs: int) -> tuple[float, float]:
    """Return the mean error of all together: of leaves decoded apart, and as released."""
    mechanism = dh.RegionalProfiles(epsilon=epsilon, regions=data.regions)
    true, apart, pooled = truth(data), [], []
    for run in range(runs):
        release = mechanism.release(data, random.Random(run).randbytes)
        apart.append(true.distance(unite(decode_apart(release))))
        pooled.append(true.distance(release.value.all))
    return float(np.mean(apart)), float(np.mean(pooled))


def test_small_leaves_together_have_far_less_error() -> None:
    apart, pooled = errors(small_leaves(), "0.2", 4)
    assert pooled < 0.7 * apart


def test_large_leaves_are_hardly_moved() -> None:
    apart, pooled = errors(small_leaves(many=4, size=3000), "5", 3)
    assert pooled < 1.02 * apart


def test_a_large_leaf_among_small_ones_stays() -> None:
    """Its noise is that of a leaf, and theirs together is larger: the sums say nothing of it."""
    draw = np.random.default_rng(3)
    counts = {name: np.minimum(draw.zipf(1.8, 10), 2000) for name in NAMES}
    counts[NAMES[7]] = np.minimum(draw.zipf(1.8, 3000), 2000)
    data = dh.RegionalProfile.from_counts(counts, regions=NAMES)
    release = dh.RegionalProfiles(epsilon="0.5", regions=NAMES).release(data)
    apart = decode_apart(release)
    assert release.value[NAMES[7]] == apart[7]
    assert sum(leaf != one for leaf, one in zip(release.value.leaves, apart, strict=True)) > 5


def test_without_the_sums_the_error_would_not_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power of the first test: moved towards the leaves' own curve, nothing is gained."""

    def own(leaves: Any, _: Any) -> Any:
        ends = unite(leaves).counts
        return ends, unite(leaves).cumulative_prevalences(ends).astype(float)

    monkeypatch.setattr(pooling, "sum_scans", own)
    apart, pooled = errors(small_leaves(), "0.2", 4)
    assert pooled > 0.85 * apart


def test_sums_are_right_on_average() -> None:
    """Cells of the first counts, over releases: leaves decoded apart are off by more than noise."""
    data, epsilon = small_leaves(), 0.2
    mechanism = dh.RegionalProfiles(epsilon=epsilon, regions=data.regions)
    true = truth(data).cumulative_prevalences(np.array([1, 2, 3]))
    found = []
    for run in range(8):
        release = mechanism.release(data, random.Random(run).randbytes)
        scans = split_scans(release.noisy, len(NAMES))
        ends, heights = sum_scans(decode_apart(release), scans)
        found.append(heights[np.searchsorted(ends, [1, 2, 3])])
    deviation = np.sqrt(len(NAMES) * 2) / epsilon
    assert np.abs(np.mean(found, axis=0) - true).max() < 4 * deviation / np.sqrt(8)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.1", "1000"])
@pytest.mark.parametrize("top", [0, "0.2"])
def test_whatever_leaves_hold_sums_are_whole_and_add_up(epsilon: str, top: Any) -> None:
    """Also of empty leaves, of one label with nearly all records there can be, and of one leaf."""
    tree = {"a": ["x", "y", "z"], "b": ["w"]}
    given: list[dict[str, Any]] = [{}, {"x": [2**60], "y": [1] * 50}, {"x": [2**58, 3], "w": [7]}]
    for counts in given:
        data = dh.RegionalProfile.from_counts(counts, regions=tree)
        mechanism = dh.RegionalProfiles(epsilon=epsilon, regions=tree, top_share=top)
        release = mechanism.release(data)
        assert release.value["a"].total == sum(release.value[leaf].total for leaf in "xyz")
        band = mechanism.intervals(release)
        for name in ("x", "y", "z", "w"):
            held, ends = release.value[name], release.value[name].counts
            below, above = (
                each[name].cumulative_prevalences(ends) for each in (band.lower, band.upper)
            )
            assert (below <= held.cumulative_prevalences(ends)).all()
            assert (held.cumulative_prevalences(ends) <= above).all()


def test_a_leaf_alone_is_decoded_alone() -> None:
    tree = {"a": ["x"], "b": ["w"]}
    data = dh.RegionalProfile.from_counts({"x": [5, 3, 1], "w": [8] * 9}, regions=tree)
    release = dh.RegionalProfiles(epsilon=1, regions=tree).release(data)
    assert release.value == RegionalHistograms(data.regions, decode_apart(release))
    assert pool_leaves(decode_apart(release)[:1], [], 1.0) == decode_apart(release)[:1]


def test_sums_without_noise_are_kept() -> None:
    """At a large epsilon: a curve of whole numbers, decoded, is itself up to the rows."""
    held = dh.AnonymizedHistogram([1, 2, 3, 5, 9, 40], [900, 400, 200, 90, 20, 2])
    ends = held.counts
    heights = held.cumulative_prevalences(ends).astype(float)
    places, found = decode_sums(ends, heights, 1000.0)
    assert from_heights(places, np.rint(found).astype(np.int64)).distance(held) <= 5


def test_a_region_is_selected_as_it_was_released() -> None:
    data = small_leaves()
    release = dh.RegionalProfiles(epsilon="0.5", regions=data.regions).release(data)
    selected = release.mechanism.select(release, None)
    assert selected.value == release.value.all == selected.mechanism.decode(selected.noisy)
