"""Mechanisms whose work grows with the data refuse by noisy numbers alone, before memory ends."""

import numpy as np
import pytest

import dphist as dh
from dphist.anonymized.measuring import MOST_COUNTS
from dphist.lab.auditing.outcome import watch_run
from dphist.lab.auditing.replay import record, replay

SMALL = dh.Profile.from_counts([3, 1])
LARGE = dh.Profile.from_counts([2**61])
TOLD = {0: lambda data: np.array([data.total])}
MECHANISMS = [
    dh.RankSplit(epsilon=1),
    dh.PrivHist(epsilon=1),
    dh.PrivHist(epsilon="1/20"),
]


def shown(mechanism):
    def run(data):
        found = watch_run(mechanism.release, data)
        return found.error or found.result

    return run


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_what_is_refused_follows_the_private_total(mechanism) -> None:
    """With the same private total the same data are refused, and the same are not."""
    run = shown(mechanism)
    released = record(run, SMALL, told=TOLD)
    assert isinstance(released.published, dh.Release)
    assert replay(released, run, LARGE, told=TOLD).published == released.published
    refused = record(run, LARGE, told=TOLD)
    assert refused.published.startswith("SizeError: by a private estimate there are too many")
    assert replay(refused, run, SMALL, told=TOLD).published == refused.published


def test_a_public_total_is_refused_by_the_constructor() -> None:
    assert dh.RankSplit(epsilon=1, total=MOST_COUNTS**2).total == 2**50
    with pytest.raises(dh.ParameterError, match="total must be at most"):
        dh.RankSplit(epsilon=1, total=MOST_COUNTS**2 + 1)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_error_says_what_to_use_and_tells_no_number(mechanism) -> None:
    with pytest.raises(dh.SizeError, match="use AdaptiveScan") as refused:
        mechanism.release(LARGE)
    assert not any(sign.isdigit() for sign in str(refused.value))
    assert dh.AdaptiveScan(epsilon=1).release(LARGE).total > 2**60
