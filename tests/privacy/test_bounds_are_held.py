"""The bounds that data and mechanisms are made with are those that they keep, whatever is done."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dphist import (
    AdaptiveScan,
    AdaptiveTree,
    Axis,
    BinnedCounts,
    CumulativeCounts,
    HierarchicalTree,
    LeafCounts,
    PartitionSampler,
    PayWhatYouGet,
    PrivacyUnit,
    PrivHist,
    Profile,
    RankSplit,
    SortedCounts,
    ThresholdHistogram,
    TopLabels,
    TopThreshold,
)
from dphist.streams.mechanism import ContinualMechanism

BOUNDS = [1, 2, 7, 1000, 10**6 + 1, 10**9]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    "through",
    [
        copy.copy,
        copy.deepcopy,
        lambda data: pickle.loads(pickle.dumps(data)),  # noqa: S301 - our own bytes
    ],
)
def test_copies_keep_the_unit(through: Callable[[Any], Any], bound: int) -> None:
    profile = Profile.from_counts([3, 1], sensitivity=bound)
    axis = Axis.from_edges([0, 1, 2])
    binned = BinnedCounts(
        np.array([1, 2]), (axis,), dict.fromkeys(("below", "above", "null"), 0), bound
    )
    for data in (profile, binned):
        assert through(data).sensitivity == bound
        assert through(data) == data


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_is_made_of_a_profile_keeps_its_unit(bound: int) -> None:
    assert Profile.from_counts([3, 1], sensitivity=bound).conjugate().sensitivity == bound
    twice = Profile.from_prevalences([3], [1], sensitivity=bound).conjugate().conjugate()
    assert twice == Profile.from_counts([3], sensitivity=bound)


BY_SENSITIVITY: list[Callable[..., Any]] = [
    lambda **kw: SortedCounts(labels=4, **kw),
    lambda **kw: CumulativeCounts(largest=4, **kw),
    lambda **kw: RankSplit(total=4, **kw),
    RankSplit,
    lambda **kw: PrivHist(shares=(1, 39, 0), **kw),
    AdaptiveScan,
    lambda **kw: PartitionSampler(delta="1e-6", **kw),
    lambda **kw: LeafCounts(bins=4, **kw),
    lambda **kw: HierarchicalTree(bins=4, **kw),
    lambda **kw: AdaptiveTree(bins=4, **kw),
]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("make", BY_SENSITIVITY)
def test_mechanisms_protect_the_unit_that_they_were_given(
    make: Callable[..., Any], bound: int
) -> None:
    """As it was given: none is cut, and each divides what a single cell or record may cost."""
    mechanism, single = make(epsilon=bound, sensitivity=bound), make(epsilon=1)
    assert mechanism.sensitivity == bound
    assert mechanism.guarantee.epsilon == bound
    assert mechanism.guarantee.unit == PrivacyUnit("record", bound)
    for name in ("cell_epsilon", "rate"):
        if hasattr(mechanism, name):
            assert getattr(mechanism, name) == getattr(single, name)
    if hasattr(mechanism, "budget"):
        assert mechanism.budget.amount == 1


BY_LABELS: list[Callable[..., Any]] = [
    lambda **kw: ThresholdHistogram(noise="laplace", **kw),
    lambda **kw: ThresholdHistogram(noise="gaussian", **kw),
    lambda **kw: TopThreshold(**kw),
    lambda **kw: TopLabels(candidates=2**31, **kw),
    lambda **kw: PayWhatYouGet(**kw),
]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("make", BY_LABELS)
def test_mechanisms_for_labels_protect_what_they_were_given(
    make: Callable[..., Any], bound: int
) -> None:
    mechanism = make(epsilon="1/100", delta="1e-9", max_labels=bound, max_count=3)
    assert (mechanism.max_labels, mechanism.max_count) == (bound, 3)
    other = make(epsilon="1/100", delta="1e-9", max_labels=3, max_count=min(bound, 10**6))
    assert (other.max_labels, other.max_count) == (3, min(bound, 10**6))


@pytest.mark.parametrize("bound", BOUNDS[:4])
def test_streams_protect_what_they_were_given(bound: int) -> None:
    held: dict[str, Any] = {
        "epsilon": "1/100",
        "delta": "1e-9",
        "horizon": 2**20,
        "method": "binary",
    }
    stream = ContinualMechanism(max_labels=bound, max_events_per_user=bound, **held)
    assert (stream.max_labels, stream.max_events_per_user) == (bound, bound)
    assert stream.mu_squared == bound**3 * ContinualMechanism(**held).mu_squared
