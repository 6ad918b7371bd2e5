"""Estimators take data, a released histogram or a release of one, and say which it was."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import dphist as dh
from dphist.errors import ParameterError
from dphist.properties.entropy import entropy
from dphist.properties.estimate import Estimate, get_histogram

PROFILE = dh.Profile.from_counts([5, 5, 3, 1, 1])
NOTHING = dh.Profile.from_counts([])
ESTIMATES: list[tuple[Callable[..., Estimate], dict[str, Any]]] = [
    (dh.properties.entropy, {}),
    (dh.properties.entropy, {"method": "apml"}),
    (dh.properties.renyi_entropy, {"order": 1}),
    (dh.properties.renyi_entropy, {"order": 2}),
    (dh.properties.support_size, {"method": "chao1"}),
    (dh.properties.support_size, {"p_min": "1/50"}),
    (dh.properties.support_coverage, {"extra": 1}),
    (dh.properties.distance_to_uniformity, {"labels": 9}),
    (dh.properties.guessing, {"guesses": 2}),
    (dh.properties.guessing, {"share": "1/2"}),
]


def test_a_release_stands_for_its_own_histogram() -> None:
    release = dh.anonymize(PROFILE, epsilon=1)
    assert get_histogram(PROFILE).distance(PROFILE) == 0
    assert entropy(release).value == entropy(release.value).value
    assert get_histogram(release) is get_histogram(release.value) is release.value


@pytest.mark.parametrize(("estimate", "asked"), ESTIMATES)
@pytest.mark.parametrize("profile", [PROFILE, NOTHING])
def test_an_estimate_says_what_it_was_given(
    estimate: Callable[..., Estimate], asked: dict[str, Any], profile: dh.Profile
) -> None:
    release = dh.RankSplit(epsilon=5).release(profile)
    for source, said, text in (
        (profile, "data", "estimated from data: not private"),
        (release.value, "released value", "without the noise of its release"),
        (release, "release", "estimated from a release"),
    ):
        found = estimate(source, resamples=10, **asked)
        assert found.source == said
        assert str(found).endswith(text)


def test_what_is_released_may_have_more_labels_than_there_are() -> None:
    """Noise adds labels: then there is an error, though data would contradict the parameter."""
    released = dh.AnonymizedHistogram(PROFILE.counts, PROFILE.prevalences)
    for source, known in ((PROFILE, False), (released, True)):
        found = dh.properties.entropy(source, labels=2)
        assert (found.standard_error is not None) == known
        found = dh.properties.distance_to_uniformity(source, labels=2)
        assert (found.standard_error is not None) == known
        found = dh.properties.support_size(source, p_min="1/2")
        assert (found.interval is not None) == known


@pytest.mark.parametrize("source", [None, [3, 1], "release.json", 3, {"counts": [1]}])
def test_anything_else_is_refused(source: Any) -> None:
    with pytest.raises(ParameterError, match="source"):
        get_histogram(source)


def test_a_release_of_something_else_is_refused() -> None:
    release = dh.LeafCounts(epsilon=1, bins=3).release([3, 1, 4])
    for source in (release, release.value, replace(release, value=PROFILE)):
        with pytest.raises(ParameterError, match="source"):
            get_histogram(source)


def test_an_estimate_is_its_value() -> None:
    estimate = Estimate(2.5, "plug-in", 0.1, (2.3, 2.7), "bits", ("note",))
    assert float(estimate) == 2.5
    with pytest.raises(AttributeError):
        estimate.value = 3.0  # type: ignore[misc]
