"""How many users have how many labels, with noise: Lemma 7 of
docs/understand/proofs/threshold.md.

What noise is added to, and which noise, is recorded of two neighbours; the losses are added up and
compared with the guarantee, for every cell in which one user may be.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr

import dphist as dh
from dphist.data.cells import make_cells
from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, ParameterError, ReleaseFileError
from dphist.lab.auditing.replay import loss_of_neighbours, record, replay
from dphist.labels.threshold.law import grid
from dphist.labels.threshold.noise import GaussianNoise, GeometricNoise
from dphist.noise.sums import width_of_sum
from tests.support.mechanisms.cases import signed

Data = tuple[np.ndarray, tuple[int, ...]]
MOST = 20

PARAMETERS = [
    {"epsilon": 1, "delta": "1e-6", "max_labels": 3},
    {"epsilon": "1e-6", "delta": "1e-9", "max_labels": 10, "max_count": 4},
    {"epsilon": 40, "delta": "1e-3", "max_labels": 1, "max_count": 1000},
    {"epsilon": "1/3", "max_labels": 5, "max_count": 2, "labels": tuple(range(8))},
]
CASES = [
    pytest.param(dh.ThresholdHistogram(noise=noise, users_by_labels=MOST, **held), id=f"{noise}{i}")  # type: ignore[arg-type]
    for i, held in enumerate(PARAMETERS)
    for noise in ("laplace", "gaussian")
]


def counted(data: Data, mechanism: Any) -> LabelCounts:
    """What `from_table` makes: counts, and numbers of users."""
    counts, users = data
    columns = pa.table({"label": np.arange(len(counts)), "count": counts})
    table = LabelCounts.promised(columns, mechanism.max_labels, mechanism.max_count)
    return replace(table, users_by_labels=mechanism.users_by_labels, _users=users)


def make_releaser(mechanism: Any) -> Callable[[Data], Any]:
    return lambda data: mechanism.release(counted(data, mechanism))


def neighbours(mechanism: Any) -> list[tuple[Data, Data]]:
    """A user who changes all labels that one may, by as much, in the first and the last cell."""
    counts = 10**6 * (1 + np.arange(8 if mechanism.labels else 12))
    more = counts.copy()
    more[: mechanism.max_labels] += mechanism.max_count
    users = tuple(70 + 3 * cell for cell in range(len(make_cells(MOST, mechanism.max_labels))))
    return [
        ((counts, users), (more, (*users[:cell], users[cell] + 1, *users[cell + 1 :])))
        for cell in (0, len(users) - 1)
    ]


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
        epsilon, rho = loss_of_neighbours(make_releaser(mechanism), without, with_it, told=sight)
        if mechanism.noise == "laplace":
            assert mechanism.epsilon_guarantee is not None
            assert epsilon == mechanism.epsilon_guarantee.epsilon
        else:
            assert rho == mechanism.guarantee.rho
        transcript = record(make_releaser(mechanism), without, told=sight)
        for far in (0, 10**12):
            users = (far, *without[1][1:-1], 10**12 - far)
            replay(transcript, make_releaser(mechanism), (without[0], users), told=sight)


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


def users_and_terms() -> pa.Table:
    """Of users 0 to 9, number 9 has five labels, and number 8 four records of one."""
    rows = [(i, "a") for i in range(10)] + [(9, t) for t in "bcde"] + [(8, "a")] * 3
    return pa.table({"who": [who for who, _ in rows], "term": [term for _, term in rows]})


ASKED: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 2, "users_by_labels": 6}
COUNTED: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 2, "users_by_labels": 6}


def test_nothing_is_released_of_users_who_were_not_counted() -> None:
    asked = dh.ThresholdHistogram(**ASKED)
    plain = dh.LabelCounts.from_table(users_and_terms(), **COUNTED | {"users_by_labels": None})
    with pytest.raises(ParameterError, match="users_by_labels="):
        asked.release(plain)
    with pytest.raises(ParameterError, match="users_by_labels="):
        asked.release(pa.table({"label": ["a"], "count": [3]}))


@pytest.mark.parametrize("other", [{"max_labels": 1}, {"users_by_labels": 7}, {"max_count": 1}])
def test_bounds_are_those_of_the_data(other: dict[str, int]) -> None:
    """Others would do for the guarantee; but the cells would not be those that were counted."""
    asked = dh.ThresholdHistogram(**ASKED, max_count=3)
    data = dh.LabelCounts.from_table(users_and_terms(), **{**COUNTED, "max_count": 3, **other})
    with pytest.raises(BoundsError):
        asked.release(data)


def test_without_being_asked_for_they_are_not_released() -> None:
    data = dh.LabelCounts.from_table(users_and_terms(), **COUNTED)
    release = dh.ThresholdHistogram(**ASKED | {"users_by_labels": None}).release(data)
    assert release.noisy == {}
    assert release.mechanism.users(release.noisy) is None


def test_the_release_says_how_much_was_dropped() -> None:
    asked = dh.ThresholdHistogram(**ASKED | {"epsilon": 1000})
    release = asked.release(dh.LabelCounts.from_table(users_and_terms(), **COUNTED))
    for each in (release, dh.Release.from_json(release.to_json())):
        found = each.mechanism.users(each.noisy)
        assert found.noisy == (9, 0, 0, 1, 0)
        assert (found.total, found.users_above()) == (10, (1, 1))
        assert found.share_cut().value == pytest.approx(2 / 13, abs=0.05)  # 4 or 5 labels
        assert found.share_cut().low <= 2 / 13 <= found.share_cut().high
        assert found.share_of_users().value == 0.1


SIZES = np.minimum(np.random.default_rng(8).zipf(2.1, 4000), 400)


def numbers_of(sizes: np.ndarray, cells: tuple[int, ...]) -> tuple[int, ...]:
    """How many users are in each cell."""
    places = np.searchsorted(cells, sizes, side="right") - 1
    return tuple(np.bincount(places, minlength=len(cells)).tolist())


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", ["0.05", "2"])
def test_intervals_hold_the_truth(noise: Any, epsilon: str) -> None:
    """Also the share of all pairs is at least the lower end, as heavy users lose the most."""
    cells = make_cells(200, 5)
    asked = dh.ThresholdHistogram(
        epsilon=epsilon, delta="1e-6", max_labels=5, noise=noise, users_by_labels=200
    )
    data = counted((np.array([10**4]), numbers_of(SIZES, cells)), asked)
    above, held, times = int((SIZES > 5).sum()), np.zeros(4, np.int64), 200
    for _ in range(times):
        found = asked.users(asked.release(data).noisy)
        assert found is not None
        for place, bound in enumerate((5, 8, 60)):
            share, true = found.share_cut(bound), 1 - _kept(bound, 200)
            held[place] += share.low <= true <= share.high
            assert 0 <= share.low <= share.value <= share.high <= 1
        held[3] += above <= found.users_above()[1]
    assert held.min() >= 0.93 * times


def _kept(bound: int, end: int) -> float:
    return float(np.minimum(SIZES, min(bound, end)).sum() / np.minimum(SIZES, end).sum())


@pytest.mark.parametrize("rate", ["1e-3", "0.1", "1", "5", "100"])
def test_no_sum_of_noise_is_wider_than_is_said(rate: str) -> None:
    """Chernoff's bound, against the exact law of one number and of two with unequal weights."""
    values = np.arange(-40_000, 40_001)
    for law in (GeometricNoise(Fraction(rate)), GaussianNoise(1 / Fraction(rate))):
        size = float(law.rate) if isinstance(law, GeometricNoise) else 1 / float(law.sigma)
        if isinstance(law, GeometricNoise):
            chances = np.exp(-size * np.abs(values)) * np.tanh(size / 2)
        else:
            ends = ndtr((np.append(values, values[-1] + 1) - 0.5) * size)
            chances = np.diff(ends)
        few = values[chances > 1e-12]
        own = chances[chances > 1e-12]
        for weights in ([1.0], [-3.0], [3.0, -1.0]):
            width = float(width_of_sum(law.law, np.array(weights), 0.975))
            if len(weights) == 1:
                beyond = own[few * weights[0] > width + 1e-9].sum()
            elif len(few) < 3000:
                sums = np.add.outer(few * weights[0], few * weights[1])
                beyond = np.multiply.outer(own, own)[sums > width + 1e-9].sum()
            else:
                continue
            assert beyond <= 0.025


@pytest.mark.parametrize("users", [None, [], [1], [1, 2, 3, 4], [[1, 2, 3, 4, 5]]])
def test_a_file_without_the_numbers_is_refused(users: Any) -> None:
    asked = dh.ThresholdHistogram(**ASKED)
    made = asked.release(counted((np.array([99]), (5, 1, 0, 0, 0)), asked))
    content = json.loads(made.to_json())
    content["noisy"] = {} if users is None else {"users": users}
    with pytest.raises(ReleaseFileError):
        dh.Release.from_json(signed(content))


def test_files_of_before_load_unless_they_count_users() -> None:
    """The two numbers of users within and over the bounds of development versions are gone."""
    made = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2)
    content = json.loads(made.release(counted((np.array([99]), ()), made)).to_json())
    parameters = content["mechanism"]["parameters"]
    del parameters["users_by_labels"]
    for value, loads in ((False, True), (True, False)):
        parameters["count_cut_users"] = value
        if loads:
            assert dh.Release.from_json(signed(content)).mechanism == made
        else:
            with pytest.raises(ReleaseFileError):
                dh.Release.from_json(signed(content))
