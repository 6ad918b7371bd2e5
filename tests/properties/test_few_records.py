"""Intervals where hardly anything is known: few records, one label that has nearly all, none."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.properties import (
    Estimate,
    distance_to_uniformity,
    entropy,
    guessing,
    renyi_entropy,
    support_coverage,
    support_size,
)
from dphist.properties.estimate import bound_unseen_share

ASKED: list[tuple[Callable[..., Estimate], dict[str, Any]]] = [
    (entropy, {}),
    (entropy, {"labels": 9}),
    (entropy, {"method": "plug-in"}),
    (entropy, {"method": "apml"}),
    (renyi_entropy, {"order": 1}),
    (renyi_entropy, {"order": 2}),
    (renyi_entropy, {"order": math.inf}),
    (support_size, {"method": "chao1"}),
    (support_coverage, {"extra": 1}),
    (support_coverage, {"extra": 7}),
    (distance_to_uniformity, {"labels": 9}),
    (guessing, {"guesses": 1}),
    (guessing, {"share": "1/2"}),
]


@pytest.mark.verify
@pytest.mark.parametrize(("ask", "asked"), ASKED)
def test_of_nothing_nothing_is_known(ask: Callable[..., Estimate], asked: dict[str, Any]) -> None:
    nothing, released = dh.Profile.from_counts([]), dh.AnonymizedHistogram([], [])
    for source in (
        nothing,
        released,
        dh.Release(released, dh.PureDP(1), dh.AdaptiveScan(epsilon=1)),
    ):
        found = ask(source, **asked)
        assert isinstance(found, Estimate)
        assert math.isfinite(found.value)
        assert (found.standard_error, found.interval) == (None, None)
        assert "nothing is known" in found.notes[0]


def test_of_nothing_there_may_be_any_number_of_labels() -> None:
    found = support_size(dh.Profile.from_counts([]), p_min="1/50")
    assert found.interval == (0, 50)


def test_an_event_that_all_records_missed() -> None:
    for n in (1, 5, 100):
        assert (1 - bound_unseen_share(n)) ** n == pytest.approx(0.025)


@pytest.mark.long(every=4)
@pytest.mark.quick("law0-5]", "law1-20]", "law2-5]", "law3-20]", every=4)
@pytest.mark.parametrize("n", [5, 10, 20, 100])
@pytest.mark.parametrize("law", [(0.99, 0.01), (0.9, 0.1), (0.8, 0.15, 0.05), (0.5, 0.5)])
def test_intervals_hold_the_truth(law: tuple[float, ...], n: int) -> None:
    """With ends that know only what was seen, down to a fifth of them did."""
    shares, random, many = np.array(law), np.random.default_rng(3), 200
    shannon, collision = -shares @ np.log2(shares), -math.log2(shares @ shares)
    truths: list[tuple[Callable[..., Estimate], dict[str, int], float]] = [
        (entropy, {}, shannon),
        (entropy, {"labels": len(law)}, shannon),
        (renyi_entropy, {"order": 2}, collision),
        (guessing, {"guesses": 1}, law[0]),
    ]
    drawn = [dh.Profile.from_counts(random.multinomial(n, shares)) for _ in range(many)]
    for ask, asked, true in truths:
        intervals = [ask(profile, **asked).interval for profile in drawn]
        given = [ends for ends in intervals if ends is not None]
        held = sum(low - 1e-9 <= true <= high + 1e-9 for low, high in given)
        assert held >= 0.88 * len(given)


@pytest.mark.parametrize("counts", [[1], [5], [100], [4, 1], [99, 1]])
@pytest.mark.parametrize(("ask", "asked"), [ASKED[i] for i in (0, 1, 4, 5, -2)])
def test_an_interval_is_no_point(
    ask: Callable[..., Estimate], asked: dict[str, Any], counts: list[int]
) -> None:
    found = ask(dh.Profile.from_counts(counts), **asked)
    if found.interval is not None:
        assert found.interval[1] - found.interval[0] > (found.standard_error or 0)
