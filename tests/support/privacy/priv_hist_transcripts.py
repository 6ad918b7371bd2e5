"""Transcripts of PrivHist with scripted noise, and how far those of two data sets differ.

A transcript is (N; noisy number above T; noisy columns and rows; noisy blocks). Its law is a
product of known laws, each given what came before, so the worst log-ratio of two is a sum of
worst log-ratios, maximised over what came before.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist import PrivHist
from dphist.anonymized import measuring
from tests.support.privacy.diagrams import profile
from tests.support.privacy.laws import Scripted, clamped_law, worst_log_ratio

Data = tuple[int, ...]

TOTALS = (0, 1, 2, 3, 5, 9, 40)
MOVED = (-40, -7, -2, -1, 0, 1, 2, 3, 8)


def replay(mechanism: PrivHist, data: Data, script: list) -> tuple[Any, list]:
    sampler = Scripted(script)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "two_sided_geometric", sampler)
        release = mechanism.release(profile(data))
    return release, sampler.calls


def above_and_numbers(mechanism: PrivHist, data: Data, total: int) -> tuple[int, int]:
    """Return the true number of labels above T, and T, for a private total."""
    start = mechanism._start(total)
    return sum(count > start for count in data), start


def difference(epsilon: Fraction, one: np.ndarray, other: np.ndarray) -> float:
    """Worst log-ratio of two vectors of clamped noisy counts with these true counts."""
    if one.shape != other.shape:
        return math.inf  # the shape of the output tells them apart
    loss = 0.0
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        if a != b:
            laws = [clamped_law(c, float(epsilon), -6, 14) for c in (a, b)]
            loss += worst_log_ratio(*laws)
    return loss


def loss(mechanism: PrivHist, one: Data, other: Data, totals=TOTALS, moved=MOVED) -> float:
    """Largest log-ratio of the transcripts of two data sets."""
    return max(loss_given_total(mechanism, one, other, total, moved) for total in totals)


def loss_given_total(mechanism: PrivHist, one: Data, other: Data, total: int, moved) -> float:
    noise = [total - sum(data) for data in (one, other)]
    runs = [replay(mechanism, data, [z]) for data, z in zip((one, other), noise, strict=True)]
    if total == 0 and runs[0][1] != runs[1][1]:
        return math.inf
    first = runs[0][1][0]
    assert first[1] == 1
    # Two-sided geometric laws of centers d apart have log-ratio d epsilon, clamped at 0 or not.
    spent = abs(sum(one) - sum(other)) * float(first[0])
    if total == 0:
        return spent
    return spent + max(
        (loss_given_above(mechanism, one, other, total, shift) for shift in moved), default=0.0
    )


def loss_given_above(mechanism: PrivHist, one: Data, other: Data, total: int, shift: int) -> float:
    """Worst log-ratio of what follows N, with the noisy number above T the same for both."""
    true = [above_and_numbers(mechanism, data, total)[0] for data in (one, other)]
    to_total = [total - sum(data) for data in (one, other)]
    smoothed = mechanism.block_epsilon is not None
    scripts = [[z, true[0] + shift - t] for z, t in zip(to_total, true, strict=True)]
    runs = [replay(mechanism, d, s) for d, s in zip((one, other), scripts, strict=True)]
    calls = [c for _, c in runs]
    if smoothed and len(calls[0]) == 2:  # no split was measured
        scripts = [[z] for z in to_total]
        runs = [replay(mechanism, d, s) for d, s in zip((one, other), scripts, strict=True)]
        return blocks_loss(runs)
    if any(len(c) != len(calls[0]) or c[2][1] != calls[0][2][1] for c in calls):
        return math.inf
    spent = abs(true[0] - true[1]) * float(calls[0][1][0])
    split = [
        split_counts(mechanism, d, s, total) for d, s in zip((one, other), scripts, strict=True)
    ]
    spent += difference(calls[0][2][0], *split)
    if not smoothed or math.isinf(spent):
        return spent
    # The same noisy rows for both, whatever noise that takes: boundaries must then agree.
    noisy = [
        replay(mechanism, d, [*s, split[0] - own])
        for d, s, own in zip((one, other), scripts, split, strict=True)
    ]
    return spent + blocks_loss(noisy)


def split_counts(mechanism: PrivHist, data: Data, script: list, total: int) -> np.ndarray:
    """True columns and rows: what `_measure_split` gives when its own noise is 0."""
    sampler = Scripted([script[1]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "two_sided_geometric", sampler)
        noisy = mechanism._measure_split(profile(data), total, None)
    return np.append(noisy["columns"], noisy["rows"])


def blocks_loss(runs: list) -> float:
    (one, calls), (other, again) = runs
    if calls != again or not np.array_equal(one.noisy["ends"], other.noisy["ends"]):
        return math.inf
    return difference(calls[-1][0], one.noisy["cells"], other.noisy["cells"])
