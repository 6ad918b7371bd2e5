"""The numbers of users within the bounds and beyond: Lemma 7 of
docs/understand/proofs/threshold.md.

What noise is added to, and which noise, is recorded of two neighbours; the losses are added up and
compared with the guarantee, for every way in which one user may change both numbers.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, ParameterError, ReleaseFileError
from dphist.lab.auditing.replay import loss_of_neighbours, record, replay
from dphist.labels.threshold.law import grid
from tests.release.test_release import signed

Data = tuple[np.ndarray, tuple[int, int]]

PARAMETERS = [
    {"epsilon": 1, "delta": "1e-6", "max_labels": 3},
    {"epsilon": "1e-6", "delta": "1e-9", "max_labels": 10, "max_count": 4},
    {"epsilon": 40, "delta": "1e-3", "max_labels": 1, "max_count": 1000},
    {"epsilon": "1/3", "max_labels": 5, "max_count": 2, "labels": tuple(range(8))},
]
CASES = [
    pytest.param(dh.ThresholdHistogram(noise=noise, count_cut_users=True, **held), id=f"{noise}{i}")  # type: ignore[arg-type]
    for i, held in enumerate(PARAMETERS)
    for noise in ("laplace", "gaussian")
]


def counted(data: Data, mechanism: Any) -> LabelCounts:
    """What `from_table` makes: counts, and numbers of users."""
    counts, users = data
    columns = pa.table({"label": np.arange(len(counts)), "count": counts})
    table = LabelCounts.promised(columns, mechanism.max_labels, mechanism.max_count)
    return replace(table, _users=users)


def released(mechanism: Any) -> Callable[[Data], Any]:
    return lambda data: mechanism.release(counted(data, mechanism))


def neighbours(mechanism: Any) -> list[tuple[Data, Data]]:
    """A user who changes as many labels as one may, by as much, and one of the numbers."""
    counts = 10**6 * (1 + np.arange(8 if mechanism.labels else 12))
    more = counts.copy()
    more[: mechanism.max_labels] += mechanism.max_count
    return [((counts, (70, 9)), (more, users)) for users in [(71, 9), (70, 10)]]


def told(mechanism: Any) -> dict[int, Any]:
    """What Gaussian noise is added to: labels, and then users, in steps of their grids."""
    if mechanism.noise == "laplace":
        return {}
    fine, of_users = grid(mechanism.noise_scale), grid(mechanism._noise_of_users().sigma)
    return {
        0: lambda data: fine * data[0],
        1: lambda data: of_users * np.array(data[1]),
    }


@pytest.mark.long(every=2)
@pytest.mark.quick("laplace0", "gaussian0")
@pytest.mark.parametrize("mechanism", CASES)
def test_a_user_costs_the_guarantee_and_not_more(mechanism: dh.ThresholdHistogram) -> None:
    sight = told(mechanism)
    for without, with_it in neighbours(mechanism):
        epsilon, rho = loss_of_neighbours(released(mechanism), without, with_it, told=sight)
        if mechanism.noise == "laplace":
            assert mechanism.epsilon_guarantee is not None
            assert epsilon == mechanism.epsilon_guarantee.epsilon
        else:
            assert rho == mechanism.guarantee.rho
        transcript = record(released(mechanism), without, told=sight)
        for far in ((0, 0), (10**12, 3), (5, 10**9)):
            replay(transcript, released(mechanism), (without[0], far), told=sight)


def without_the_cost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dh.ThresholdHistogram, "_changed", property(lambda self: self.changed_labels))


def test_a_guarantee_without_their_cost_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_cost(monkeypatch)
    for case in CASES:
        with pytest.raises(AssertionError):
            test_a_user_costs_the_guarantee_and_not_more(case.values[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.quick(every=2)
def test_too_little_noise_is_caught(change: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    right = dh.ThresholdHistogram._noise_for
    monkeypatch.setattr(dh.ThresholdHistogram, "_noise_of_users", lambda self: right(self, change))  # type: ignore[arg-type]
    for case in CASES:
        with pytest.raises(AssertionError):
            test_a_user_costs_the_guarantee_and_not_more(case.values[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", CASES)
def test_the_law_is_the_one_for_a_change_of_one(mechanism: dh.ThresholdHistogram) -> None:
    law = mechanism._noise_of_users()
    scale = 1 / law.rate if mechanism.noise == "laplace" else law.sigma
    assert scale * mechanism.epsilon == 1


def table() -> pa.Table:
    """Of users 0 to 9, number 9 has five labels, and number 8 four records of one."""
    rows = [(i, "a") for i in range(10)] + [(9, t) for t in "bcde"] + [(8, "a")] * 3
    return pa.table({"who": [who for who, _ in rows], "term": [term for _, term in rows]})


def test_nothing_is_released_of_users_who_were_not_counted() -> None:
    asked = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2, count_cut_users=True)
    plain = dh.LabelCounts.from_table(table(), label="term", user="who", max_labels=2)
    with pytest.raises(ParameterError, match="count_users=True"):
        asked.release(plain)
    with pytest.raises(ParameterError, match="count_users=True"):
        asked.release(pa.table({"label": ["a"], "count": [3]}))


@pytest.mark.parametrize(("labels", "count"), [(1, 1), (2, 1), (1, 3)])
def test_bounds_are_those_that_were_cut_to(labels: int, count: int) -> None:
    """Fewer would do for the guarantee; but "more than 2 labels" would not be what was counted."""
    asked = dh.ThresholdHistogram(
        epsilon=1, delta="1e-6", max_labels=2, max_count=3, count_cut_users=True
    )
    data = dh.LabelCounts.from_table(
        table(), label="term", user="who", max_labels=labels, max_count=count, count_users=True
    )
    with pytest.raises(BoundsError):
        asked.release(data)


def test_without_being_asked_for_they_are_not_released() -> None:
    data = dh.LabelCounts.from_table(
        table(), label="term", user="who", max_labels=2, count_users=True
    )
    release = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2).release(data)
    assert release.noisy == {}
    assert release.mechanism.cut_users(release.noisy) is None


def test_the_release_says_how_many_were_cut() -> None:
    asked = dh.ThresholdHistogram(epsilon=1000, delta="1e-6", max_labels=2, count_cut_users=True)
    data = dh.LabelCounts.from_table(
        table(), label="term", user="who", max_labels=2, count_users=True
    )
    release = asked.release(data)
    loaded = dh.Release.from_json(release.to_json())
    for each in (release, loaded):
        found = each.mechanism.cut_users(each.noisy)
        assert (found.within, found.cut, found.error) == (9, 1, 0)
        assert found.share == found.low == found.high == 0.1


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.quick(every=2)
def test_intervals_of_the_share_hold_it(noise: Any) -> None:
    asked = dh.ThresholdHistogram(
        epsilon="0.05", delta="1e-6", max_labels=2, noise=noise, count_cut_users=True
    )
    data = counted((np.array([10**4]), (903, 97)), asked)
    held = 0
    for _ in range(600):
        found = asked.cut_users(asked.release(data).noisy)
        assert found is not None
        assert 0 <= found.low <= found.share <= found.high <= 1
        held += found.low <= 0.097 <= found.high
    assert held >= 560  # 570 are expected at least; fewer than 560 have a chance of 1 in 40,000


@pytest.mark.parametrize("users", [None, [], [1], [1, 2, 3], [[1, 2]]])
def test_a_file_without_the_two_numbers_is_refused(users: Any) -> None:
    asked = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2, count_cut_users=True)
    content = json.loads(asked.release(counted((np.array([99]), (5, 1)), asked)).to_json())
    content["noisy"] = {} if users is None else {"users": users}
    with pytest.raises(ReleaseFileError):
        dh.Release.from_json(signed(content))
