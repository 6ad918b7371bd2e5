"""The replay of transcripts notices what it is for: planted bugs in a small mechanism."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist import noise
from dphist.lab.auditing.replay import DivergedError, Drawn, loss_of_neighbours, record, replay

EPSILON = Fraction(1, 3)
ONE, OTHER = np.array([5, 0, 3, 10**9, 0]), np.array([5, 0, 3, 10**9 + 1, 0])
FAR = np.array([0, 0, 0, 0, 2**60])

Run = Callable[[np.ndarray], Any]


def draw(size: Any, epsilon: Any = EPSILON) -> np.ndarray:
    return noise.two_sided_geometric(epsilon, size)


def sound(counts: np.ndarray) -> list[int]:
    """Two rounds: in the second the counts whose first noisy ones are positive, once more."""
    first = counts + draw(len(counts), EPSILON / 2)
    chosen = np.flatnonzero(first > 0)
    second = counts[chosen] + draw(len(chosen), EPSILON / 2)
    return [*first.tolist(), *second.tolist()]


def one_by_one(counts: np.ndarray) -> list[int]:
    """As integers from a list, of which the last draws are not needed."""
    drawn = iter(draw(1024).tolist())
    return [count + next(drawn) for count in counts.tolist()]


def gaussian(counts: np.ndarray) -> list[int]:
    noisy: list[int] = (noise.rounded_gaussian(Fraction(2), counts.shape) + counts).tolist()
    return noisy


def test_what_is_sound_loses_what_it_may_and_no_more() -> None:
    assert loss_of_neighbours(sound, ONE, OTHER) == (EPSILON, 0)
    assert loss_of_neighbours(one_by_one, ONE, OTHER, spare=1019) == (EPSILON, 0)
    assert loss_of_neighbours(gaussian, ONE, OTHER) == (0, Fraction(1, 8))
    assert loss_of_neighbours(gaussian, ONE, OTHER + 2) == (0, 4 * Fraction(4, 8) + Fraction(9, 8))


@pytest.mark.parametrize("run", [sound, one_by_one, gaussian])
def test_requests_and_publications_are_the_same_on_any_data(run: Run) -> None:
    transcript = record(run, ONE)
    for data in (OTHER, FAR, ONE * 0):
        assert replay(transcript, run, data).published == transcript.published


def sums_out_of_sight(counts: np.ndarray) -> int:
    return int(counts.sum()) + int(draw(1)[0])


def test_sums_that_are_out_of_sight_can_be_told() -> None:
    told = {0: lambda counts: counts.sum()}
    found = loss_of_neighbours(sums_out_of_sight, ONE, OTHER, told=told)
    assert found == (EPSILON, 0)
    with pytest.raises(DivergedError):
        loss_of_neighbours(sums_out_of_sight, ONE, OTHER)


def no_noise_on_zeros(counts: np.ndarray) -> list[int]:
    return np.where(counts == 0, 0, counts + draw(len(counts))).tolist()


def noise_on_large_counts_only(counts: np.ndarray) -> list[int]:
    return [*(counts[:3] + draw(3)).tolist(), *counts[3:].tolist()]


def one_draw_for_all(counts: np.ndarray) -> list[int]:
    return (counts + draw(1)).tolist()


def one_draw_for_two_sums(counts: np.ndarray) -> list[int]:
    drawn = draw(len(counts))
    return [*(counts + drawn).tolist(), *(2 * counts + drawn).tolist()]


def smaller_noise(counts: np.ndarray) -> list[int]:
    return (counts + draw(len(counts)) // 2).tolist()


def noise_cut_off(counts: np.ndarray) -> list[int]:
    return (counts + np.clip(draw(len(counts)), -1, 1)).tolist()


def as_much_noise_as_there_are_counts(counts: np.ndarray) -> list[int]:
    some = counts[counts > 0]
    return (some + draw(len(some))).tolist()


def less_for_large_counts(counts: np.ndarray) -> list[int]:
    return (counts + draw(len(counts), EPSILON * (1 + int(counts.max() > 10**9)))).tolist()


def another_generator(counts: np.ndarray) -> list[int]:
    return (counts + np.random.default_rng().integers(-9, 9, len(counts))).tolist()


def a_second_round_for_large_counts(counts: np.ndarray) -> list[int]:
    chosen = counts[counts > 10**9]
    return [*(counts + draw(len(counts))).tolist(), *(chosen + draw(len(chosen))).tolist()]


def a_float_for_epsilon(counts: np.ndarray) -> list[int]:
    return (counts + draw(len(counts), 1 / 3)).tolist()


def the_true_total(counts: np.ndarray) -> list[int]:
    return [*(counts + draw(len(counts))).tolist(), int(counts.sum())]


def rounded_to_floats(counts: np.ndarray) -> list[int]:
    return (counts.astype(float) + draw(len(counts))).tolist()


PLANTED = [
    no_noise_on_zeros,
    noise_on_large_counts_only,
    one_draw_for_all,
    one_draw_for_two_sums,
    smaller_noise,
    noise_cut_off,
    as_much_noise_as_there_are_counts,
    less_for_large_counts,
    another_generator,
    a_second_round_for_large_counts,
    a_float_for_epsilon,
    the_true_total,
    rounded_to_floats,
]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.__name__)
def test_planted_bugs_are_noticed(planted: Run) -> None:
    with pytest.raises(DivergedError):
        found = loss_of_neighbours(planted, ONE, OTHER)
        assert found == (EPSILON, 0)
        replay(record(planted, ONE), planted, FAR)


def test_counts_that_change_by_too_much_show_in_the_loss() -> None:
    def doubled(counts: np.ndarray) -> list[int]:
        return (2 * counts + draw(len(counts))).tolist()

    assert loss_of_neighbours(doubled, ONE, OTHER) == (2 * EPSILON, 0)


def test_draws_keep_their_places_in_slices_only() -> None:
    def sliced(counts: np.ndarray) -> list[int]:
        drawn = draw(2 * len(counts))
        assert isinstance(drawn, Drawn)
        assert type(drawn * 1) is np.ndarray
        late, early = counts + drawn[len(counts) :], counts + drawn[: len(counts)]
        return [*early.tolist(), *late.tolist()]

    assert loss_of_neighbours(sliced, ONE, OTHER) == (2 * EPSILON, 0)
