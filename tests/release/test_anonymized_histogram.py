"""AnonymizedHistogram: a frozen released value, which no mechanism takes for data."""

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dphist as dh
from dphist.release.tabular import Released
from tests.support.histograms import histogram_of

counts_lists = st.lists(st.integers(1, 40), max_size=30)
LABELS = dh.LabelCounts.from_counts(["a"], [90], max_labels=1, max_count=1)
THRESHOLD = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)
STREAM = dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=9)
RELEASES = {
    "anonymized": dh.RankSplit(epsilon=1).release(dh.Profile.from_counts([5, 4])),
    "ranges": dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3]),
    "labels": THRESHOLD.release(LABELS),
    "streams": STREAM.release(),
}


@given(counts_lists)
def test_it_holds_what_a_profile_of_the_same_counts_holds(counts: list[int]) -> None:
    profile, histogram = dh.Profile.from_counts(counts), histogram_of(counts)
    assert histogram.counts.tolist() == profile.counts.tolist()
    assert histogram.prevalences.tolist() == profile.prevalences.tolist()
    assert (histogram.total, histogram.labels) == (profile.total, profile.labels)
    turned = histogram.conjugate()
    assert turned.sorted_counts().tolist() == profile.conjugate().sorted_counts().tolist()
    assert turned.conjugate() == histogram


@given(counts_lists, counts_lists)
def test_its_distance_to_data_is_that_of_the_data_to_it(one: list[int], other: list[int]) -> None:
    released, data = histogram_of(one), dh.Profile.from_counts(other)
    expected = dh.Profile.from_counts(one).distance(data)
    assert released.distance(data) == data.distance(released) == expected
    assert released.distance(histogram_of(other)) == expected


def test_it_is_never_equal_to_data() -> None:
    assert histogram_of([3, 1]) != dh.Profile.from_counts([3, 1])
    assert histogram_of([3, 1]) == dh.AnonymizedHistogram([1, 3, 9, 0], [1, 1, 0, 4])
    assert histogram_of([3, 1]) != histogram_of([3, 2])


def test_it_shows_itself() -> None:
    assert repr(histogram_of([3, 1, 1])) == "AnonymizedHistogram(3 labels, 5 records)"
    assert repr(histogram_of([1])) == "AnonymizedHistogram(1 label, 1 record)"
    assert "AnonymizedHistogram(" in repr(RELEASES["anonymized"])


def test_it_and_its_copies_cannot_be_changed() -> None:
    histogram = histogram_of([3, 1])
    for twin in (
        histogram, copy.deepcopy(histogram), pickle.loads(pickle.dumps(histogram)),  # noqa: S301
    ):  # fmt: skip
        assert type(twin) is dh.AnonymizedHistogram
        assert twin == histogram
        with pytest.raises(ValueError, match="read-only"):
            twin.counts[0] = 7
        with pytest.raises(dataclasses.FrozenInstanceError):
            twin.counts = np.array([7])  # type: ignore[misc]


@pytest.mark.parametrize(
    "bad", [[1.5], [2.0], [None], [True], ["7"], [2**63], [[1]], 5, np.array([1], np.uint64)]
)
def test_other_than_whole_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(dh.ParameterError, match="counts must be"):
        dh.AnonymizedHistogram(bad, [1])
    with pytest.raises(dh.ParameterError, match="prevalences must be"):
        dh.AnonymizedHistogram([1], bad)
    with pytest.raises(dh.ParameterError, match="same length"):
        dh.AnonymizedHistogram([1], [1, 2])


def test_it_is_saved_and_read_whatever_noise_made_of_it(tmp_path: Path) -> None:
    for histogram in (histogram_of([]), histogram_of([3, 1]), histogram_of([2**62, 2**63 - 1])):
        assert dh.AnonymizedHistogram.from_content(histogram.to_content()) == histogram
        release = dataclasses.replace(RELEASES["anonymized"], value=histogram)
        release.save(tmp_path / "r.json")
        loaded = dh.Release.load(tmp_path / "r.json").value
        assert type(loaded) is dh.AnonymizedHistogram
        assert loaded == histogram


@pytest.mark.parametrize(
    "pairs", [([0], [1]), ([1], [0]), ([1.0], [1]), ([True], [1]), ([1, 2], [1]), ([2**63], [1])]
)
def test_a_file_with_other_pairs_is_refused(pairs: tuple[list[Any], list[Any]]) -> None:
    with pytest.raises(dh.DataError, match="pairs of positive whole numbers"):
        dh.AnonymizedHistogram.from_content({"counts": pairs[0], "prevalences": pairs[1]})


# --- What is released is no data


@pytest.mark.parametrize("kind", RELEASES)
def test_no_mechanism_takes_what_is_released_for_data(kind: str, tmp_path: Path) -> None:
    release = RELEASES[kind]
    ledger = dh.Ledger.create(tmp_path / "c.ledger", epsilon=9, delta="1e-5", unit="one record")
    before = list(ledger.entries())
    for released in (release, release.value):
        assert isinstance(released, Released)
        mechanism: Any
        for mechanism in (dh.RankSplit(epsilon=1), dh.LeafCounts(epsilon=1, bins=3), THRESHOLD):
            with pytest.raises(dh.ParameterError, match=r"must be data, .* is released already"):
                mechanism.release(released)
        with pytest.raises(dh.ParameterError, match=r"Profile\.from_prevalences") as refused:
            ledger.release(dh.RankSplit(epsilon=1), released, by="ana", key=type(released).__name__)
        assert not hasattr(refused.value, "__notes__")
    assert list(ledger.entries()) == before


def test_the_remedy_of_the_refusal_works() -> None:
    value = histogram_of([9, 4, 4, 1])
    data = dh.Profile.from_prevalences(value.counts, value.prevalences)
    assert data.distance(value) == 0
    assert dh.AdaptiveScan(epsilon=45).release(data).value == value


def test_data_are_not_released() -> None:
    for data in (dh.Profile.from_counts([3]), LABELS):
        assert not isinstance(data, Released)
