"""Estimators take a profile, or a release of one, and nothing else."""

from typing import Any

import pytest

import dphist as dh
from dphist.errors import ParameterError
from dphist.properties.entropy import entropy
from dphist.properties.estimate import Estimate
from dphist.properties.source import profile_of


def test_a_release_stands_for_its_own_profile() -> None:
    profile = dh.Profile.from_counts([5, 5, 3, 1])
    release = dh.anonymize(profile, epsilon=1)
    assert profile_of(profile) is profile
    assert profile_of(release) is release.value
    assert entropy(release) == entropy(release.value)


@pytest.mark.parametrize("source", [None, [3, 1], "release.json", 3, {"counts": [1]}])
def test_anything_else_is_refused(source: Any) -> None:
    with pytest.raises(ParameterError, match="source"):
        profile_of(source)


def test_a_release_of_something_else_is_refused() -> None:
    release = dh.LeafCounts(epsilon=1, bins=3).release([3, 1, 4])
    with pytest.raises(ParameterError, match="source"):
        profile_of(release)


def test_an_estimate_is_its_value() -> None:
    estimate = Estimate(2.5, "plug-in", 0.1, (2.3, 2.7), "bits", ("note",))
    assert float(estimate) == 2.5
    with pytest.raises(AttributeError):
        estimate.value = 3.0  # type: ignore[misc]
