"""What the suite says of a mechanism, and mechanisms on counts: noise that is wrong, choices."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dphist.noise import rounded_gaussian, two_sided_geometric

Run = Callable[[Any], Any]
R = TypeVar("R", bound=Run)

_AT_ONCE = 4096


@dataclass(frozen=True)
class Entry:
    """A mechanism with known truth.

    Attributes
    ----------
    name : of the mechanism.
    run : takes data and returns what is released.
    pairs : neighbors (one, other), the same for a faulty mechanism and its correct twin.
    epsilon, delta : the claim.
    faulty : whether the claim is wrong.
    truth : the true guarantee, in words.
    source : who found the fault, or published the mechanism.
    """

    name: str
    run: Run
    pairs: tuple[tuple[Any, Any], ...]
    epsilon: Fraction
    delta: Fraction
    faulty: bool
    truth: str
    source: str


ENTRIES: list[Entry] = []
"""All mechanisms of the suite, in the order of the files."""


def _entry(
    faulty: bool,
    pairs: Sequence[tuple[Any, Any]],
    truth: str,
    source: str,
    epsilon: object = 1,
    delta: object = 0,
) -> Callable[[R], R]:
    """Add a function to the suite under its own name."""

    def add(run: R) -> R:
        claim = Fraction(str(epsilon)), Fraction(str(delta))
        name = run.__name__.replace("_", " ")
        ENTRIES.append(Entry(name, run, tuple(pairs), *claim, faulty, truth, source))
        return run

    return add


broken, correct = partial(_entry, True), partial(_entry, False)
"""Add a function to the suite, with its neighbors, its true guarantee and where it is from."""

_kept: dict[tuple[Callable[..., Any], Fraction], list[int]] = {}


def _draw(sampler: Callable[..., Any], parameter: Fraction | int) -> int:
    """Return a draw of those that are made at once."""
    exact = Fraction(parameter)
    held = _kept.setdefault((sampler, exact), [])
    if not held:
        held.extend(sampler(exact, _AT_ONCE).tolist())
    return held.pop()


def geometric(epsilon: Fraction | int) -> int:
    """Return two-sided geometric noise, exactly: P(z) is proportional to exp(-epsilon |z|)."""
    return _draw(two_sided_geometric, epsilon)


def one_sided_geometric(epsilon: Fraction | int) -> int:
    """Return geometric noise, exactly: P(z) is proportional to exp(-epsilon z) for z >= 0."""
    while (drawn := geometric(epsilon)) < 0:
        pass
    return drawn


def gaussian(sigma: Fraction | int) -> int:
    """Return Gaussian noise, rounded: added to an integer, the sum is a Gaussian's, rounded."""
    return _draw(rounded_gaussian, sigma)


ONE = ((0, 1), (1, 2), (254, 255), (255, 256))
TWO = (([0, 0], [1, 0]), ([5, 5], [5, 6]), ([3, 0], [4, 0]))
MOVED = (([1, 0], [0, 1]), ([4, 7], [5, 6]))
DING = "Z. Ding et al. Detecting Violations of Differential Privacy. CCS 2018. arXiv:1805.10277."

_random = np.random.default_rng()


@correct(ONE, "1", "A. Ghosh et al. STOC 2009.")
def a_count(count: int) -> int:
    """Geometric noise on a whole number."""
    return count + geometric(1)


@broken(ONE, "2", "A slip of the scale.")
def half_the_noise(count: int) -> int:
    """The scale that a sensitivity of one half would need."""
    return count + geometric(2)


@broken(
    ((0.0, 1.0),),
    "infinite: some sums cannot be reached",
    "I. Mironov. On Significance of the Least Significant Bits for DP. CCS 2012.",
)
def laplace_from_floats(count: float) -> float:
    """The textbook's inversion in float64: the low digits tell what was added to."""
    return count + math.copysign(_random.exponential(), _random.random() - 0.5)


@correct(((0.0, 1.0),), "1", "The twin: rounded data, whole noise.")
def laplace_on_a_grid(count: float) -> float:
    """Geometric noise on a grid of 1/16."""
    return (round(count * 16) + geometric(Fraction(1, 16))) / 16


@broken(ONE, "infinite: what is out of reach", "A guard against outliers.")
def noise_cut_off(count: int) -> int:
    """Noise is clipped before it is added."""
    return count + max(-3, min(3, geometric(1)))


@correct(ONE, "1", "The twin: clipping is post-processing.")
def sum_cut_off(count: int) -> int:
    """The noisy count is clipped."""
    return max(0, min(10, count + geometric(1)))


@broken(TWO, "infinite: differences are bare", "One draw for all labels.")
def shared_noise(counts: list[int]) -> list[int]:
    """Every label gets the same draw."""
    drawn = geometric(1)
    return [count + drawn for count in counts]


@correct(TWO, "1", DING)
def a_histogram(counts: list[int]) -> list[int]:
    """Every label gets a draw of its own; a record is in one label."""
    return [count + geometric(1) for count in counts]


@broken(TWO, "3 for the claim of 1/3", DING, epsilon="1/3")
def a_histogram_with_the_scale_upside_down(counts: list[int]) -> list[int]:
    """Noise of scale epsilon in place of 1/epsilon."""
    return [count + geometric(3) for count in counts]


@broken(MOVED, "2", "Adding or removing taken for replacing.")
def count_replaced_records_once(counts: list[int]) -> list[int]:
    """A record may move, which changes two counts, and noise covers one."""
    return [count + geometric(1) for count in counts]


@correct(MOVED, "1", "The twin: noise for two changes.")
def count_replaced_records_twice(counts: list[int]) -> list[int]:
    """A record may move, which changes two counts."""
    return [count + geometric(Fraction(1, 2)) for count in counts]


@broken(ONE, "infinite", "Counts in a type that is too small.")
def counts_that_wrap(count: int) -> int:
    """The count is held in eight bits."""
    return count % 256 + geometric(1)


@correct(ONE, "1", "The twin: counts stop at the largest.")
def counts_that_stop(count: int) -> int:
    """The count is held in eight bits, and stays at the largest."""
    return min(count, 255) + geometric(1)


@broken(ONE, "3", "A budget that is spent after drawing.")
def best_of_three(count: int) -> int:
    """Draws again where the result is no count, and pays for the last draw only."""
    first, second, third = (count + geometric(1) for _ in range(3))
    return max(first, second, third) if max(first, second, third) > 0 else min(first, second, third)


@correct(ONE, "1", "The twin: three draws are paid.")
def best_of_three_that_are_paid(count: int) -> int:
    """Three draws share the budget."""
    return max(count + geometric(Fraction(1, 3)) for _ in range(3))


EIGHT_LEAVES = (([0] * 8, [1] + [0] * 7), ([2] * 8, [2] * 7 + [3]))


@broken(
    EIGHT_LEAVES, "4", "A tree whose levels are paid once: a record is in a node of each level."
)
def a_tree_without_its_path(counts: list[int]) -> list[int]:
    """Sums of 1, 2, 4 and 8 leaves, each with the whole budget."""
    return [sum(counts[k : k + w]) + geometric(1) for w in (1, 2, 4, 8) for k in range(0, 8, w)]


@correct(EIGHT_LEAVES, "1", "M. Hay et al. Boosting the Accuracy of DP Histograms. VLDB 2010.")
def a_tree(counts: list[int]) -> list[int]:
    """Each of four levels has a quarter of the budget."""
    quarter = Fraction(1, 4)
    return [
        sum(counts[k : k + w]) + geometric(quarter) for w in (1, 2, 4, 8) for k in range(0, 8, w)
    ]


def _split(counts: list[int], each: Fraction | int) -> list[int]:
    """Return the widths of the parts of a line, halved where a noisy count is 4 or more."""
    if len(counts) == 1 or sum(counts) + geometric(each) < 4:
        return [len(counts)]
    half = len(counts) // 2
    return _split(counts[:half], each) + _split(counts[half:], each)


ON_ONE_PATH = (
    ([3] + [0] * 7, [4] + [0] * 7),
    ([0] * 7 + [5], [0] * 7 + [6]),
    ([0] * 8, [1] + [0] * 7),
)


@broken(
    ON_ONE_PATH,
    "3",
    "Splits whose sensitivity is counted once: a record is in one node of each level.",
)
def splits_that_are_paid_once(counts: list[int]) -> list[int]:
    """A decision on each of three levels, each with the whole budget."""
    return _split(counts, 1)


@correct(ON_ONE_PATH, "1", "The twin: a decision has a third.")
def splits_that_are_each_paid(counts: list[int]) -> list[int]:
    """A decision on each of three levels."""
    return _split(counts, Fraction(1, 3))


UP = (([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]), ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
      ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]), ([0, 0, 0, 0, 0], [1, 1, 0, 0, 0]))  # fmt: skip
QUERIES = (
    ([0] * 10, [1] * 10),
    ([0] * 5 + [1] * 5, [1] * 5 + [0] * 5),
    ([0] * 9 + [1], [1] * 9 + [0]),
    ([0] * 10, [0] * 9 + [1]),
    ([0] * 4 + [1], [1] * 4 + [0]),
    ([0] * 12 + [1] * 12, [1] * 12 + [0] * 12),
)
# Checked against the papers' own code of StatDP (noisy max, histogram and sparse vector, of which
# iSVT1 to 4 are algorithms 5, 6, 4 and 3 here) and of DP-Sniper (algorithms 1 to 6).
LYU = "M. Lyu et al. Understanding the Sparse Vector Technique for DP. VLDB 2017. Algorithm"
_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)


def _largest(noisy: list[int]) -> int:
    return noisy.index(max(noisy))


@correct(UP, "1", DING)
def place_of_the_noisy_maximum(counts: list[int]) -> int:
    """All counts may change by 1."""
    return _largest([count + geometric(_HALF) for count in counts])


@broken(UP, "2.5", DING)
def the_noisy_maximum_itself(counts: list[int]) -> int:
    """The largest noisy count is released in place of its place."""
    return max(count + geometric(_HALF) for count in counts)


@correct(UP, "1", "The twin: as many counts are paid as may change.")
def the_noisy_maximum_that_is_paid(counts: list[int]) -> int:
    """The largest of five counts, each with a fifth of the budget."""
    return max(count + geometric(Fraction(1, 5)) for count in counts)


@correct(UP, "1", f"{DING} Noisy max with exponential noise.")
def place_of_the_one_sided_maximum(counts: list[int]) -> int:
    """Noise is never negative."""
    return _largest([count + one_sided_geometric(_HALF) for count in counts])


@broken(UP, "infinite", f"{DING} Noisy max with exponential noise.")
def the_one_sided_maximum_itself(counts: list[int]) -> int:
    """Noise is never negative, so no result is below the largest count."""
    return max(count + one_sided_geometric(_HALF) for count in counts)


@broken(UP, "5", "Noise for one count where five may change.")
def place_and_counts(counts: list[int]) -> list[int]:
    """All noisy counts in order."""
    return sorted((count + geometric(_HALF) for count in counts), reverse=True)


@correct(UP, "1", "The twin: five counts are paid.")
def place_and_counts_that_are_paid(counts: list[int]) -> list[int]:
    """All noisy counts in order."""
    return sorted((count + geometric(Fraction(1, 5)) for count in counts), reverse=True)


def _sparse(
    answers: list[int], line: Fraction, each: Fraction | None, most: int | None, *,
    values: bool = False, refresh: bool = False,
) -> list[object]:  # fmt: skip
    """Which answers are at least 0, by noise on the line and on each, until `most` are."""
    shown: list[object] = []
    threshold, found = geometric(line), 0
    for answer in answers:
        noisy = answer + (geometric(each) if each is not None else 0)
        if noisy >= threshold:
            shown.append(noisy if values else "above")
            found += 1
            threshold = geometric(line) if refresh else threshold
            if found == most:
                break
        else:
            shown.append("below")
    return shown


@correct(QUERIES, "1", f"{LYU} 1.")
def sparse_vector_1(answers: list[int]) -> list[object]:
    """The technique as it should be: noise of 2 c / epsilon_2 on each answer."""
    return _sparse(answers, _HALF, Fraction(1, 8), 2)


@correct(QUERIES, "1", f"{LYU} 2: Dwork and Roth 2014.")
def sparse_vector_2(answers: list[int]) -> list[object]:
    """A new line after each answer above it."""
    return _sparse(answers, _QUARTER, Fraction(1, 8), 2, refresh=True)


@broken(QUERIES, "infinite", f"{LYU} 3: lecture notes of 2011.")
def sparse_vector_3(answers: list[int]) -> list[object]:
    """Noisy answers above the line are released themselves."""
    return _sparse(answers, _HALF, _HALF, 1, values=True)


@correct(QUERIES, "1", "The twin of 3: Y. Wang et al. PLDI 2019.")
def sparse_vector_with_fresh_values(answers: list[int]) -> list[object]:
    """The value that is released has noise of its own, and a third of the budget."""
    third = Fraction(1, 3)
    shown = _sparse(answers, third, Fraction(1, 6), 1)
    above = shown[-1:] == ["above"]
    return [*shown[:-1], answers[len(shown) - 1] + geometric(third)] if above else shown


@broken(QUERIES, "3.25", f"{LYU} 4: Lee and Clifton 2014.")
def sparse_vector_4(answers: list[int]) -> list[object]:
    """Noise on each answer does not grow with the number of answers above."""
    return _sparse(answers, _QUARTER, Fraction(3, 4), 2)


@correct(QUERIES, "1", "The twin of 4: noise of 2 c / epsilon_2.")
def sparse_vector_4_that_is_paid(answers: list[int]) -> list[object]:
    """Noise on each answer grows with the number of answers above."""
    return _sparse(answers, _QUARTER, Fraction(3, 16), 2)


@broken(QUERIES, "infinite", f"{LYU} 5: Stoddard et al. 2014.")
def sparse_vector_5(answers: list[int]) -> list[object]:
    """No noise on the answers, and no end."""
    return _sparse(answers, _HALF, None, None)


@broken(QUERIES, "infinite", f"{LYU} 6: Chen et al. 2015.")
def sparse_vector_6(answers: list[int]) -> list[object]:
    """Noise on each answer, and no end."""
    return _sparse(answers, _HALF, _HALF, None)


@correct(QUERIES, "1", "The twin of algorithm 6: it ends at the first.")
def sparse_vector_that_ends(answers: list[int]) -> list[object]:
    """One answer above the line, then nothing more."""
    return _sparse(answers, _HALF, _QUARTER, 1)
