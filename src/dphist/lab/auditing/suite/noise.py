"""Noise that is not what it should be."""

import math
from fractions import Fraction

import numpy as np

from dphist.lab.auditing.suite.entry import entry, geometric

ONE = ((0, 1), (1, 2), (254, 255), (255, 256))
TWO = (([0, 0], [1, 0]), ([5, 5], [5, 6]), ([3, 0], [4, 0]))
MOVED = (([1, 0], [0, 1]), ([4, 7], [5, 6]))
DING = "Z. Ding et al. Detecting Violations of Differential Privacy. CCS 2018. arXiv:1805.10277."

_random = np.random.default_rng()


@entry(ONE, faulty=False, truth="1", source="A. Ghosh et al. STOC 2009.")
def a_count(count: int) -> int:
    """Geometric noise on a whole number."""
    return count + geometric(1)


@entry(ONE, faulty=True, truth="2", source="A slip of the scale.")
def half_the_noise(count: int) -> int:
    """The scale that a sensitivity of one half would need."""
    return count + geometric(2)


@entry(
    ((0.0, 1.0),),
    faulty=True,
    truth="infinite: some sums cannot be reached",
    source="I. Mironov. On Significance of the Least Significant Bits for DP. CCS 2012.",
)
def laplace_from_floats(count: float) -> float:
    """The textbook's inversion in float64: the low digits tell what was added to."""
    return count + math.copysign(_random.exponential(), _random.random() - 0.5)


@entry(((0.0, 1.0),), faulty=False, truth="1", source="The twin: rounded data, whole noise.")
def laplace_on_a_grid(count: float) -> float:
    """Geometric noise on a grid of 1/16."""
    return (round(count * 16) + geometric(Fraction(1, 16))) / 16


@entry(ONE, faulty=True, truth="infinite: what is out of reach", source="A guard against outliers.")
def noise_cut_off(count: int) -> int:
    """Noise is clipped before it is added."""
    return count + max(-3, min(3, geometric(1)))


@entry(ONE, faulty=False, truth="1", source="The twin: clipping is post-processing.")
def sum_cut_off(count: int) -> int:
    """The noisy count is clipped."""
    return max(0, min(10, count + geometric(1)))


@entry(TWO, faulty=True, truth="infinite: differences are bare", source="One draw for all labels.")
def shared_noise(counts: list[int]) -> list[int]:
    """Every label gets the same draw."""
    drawn = geometric(1)
    return [count + drawn for count in counts]


@entry(TWO, faulty=False, truth="1", source=DING)
def a_histogram(counts: list[int]) -> list[int]:
    """Every label gets a draw of its own; a record is in one label."""
    return [count + geometric(1) for count in counts]


@entry(TWO, faulty=True, truth="3 for the claim of 1/3", source=DING, epsilon="1/3")
def a_histogram_with_the_scale_upside_down(counts: list[int]) -> list[int]:
    """Noise of scale epsilon in place of 1/epsilon."""
    return [count + geometric(3) for count in counts]


@entry(MOVED, faulty=True, truth="2", source="Adding or removing taken for replacing.")
def replaced_records_counted_once(counts: list[int]) -> list[int]:
    """A record may move, which changes two counts, and noise covers one."""
    return [count + geometric(1) for count in counts]


@entry(MOVED, faulty=False, truth="1", source="The twin: noise for two changes.")
def replaced_records_counted_twice(counts: list[int]) -> list[int]:
    """A record may move, which changes two counts."""
    return [count + geometric(Fraction(1, 2)) for count in counts]


@entry(ONE, faulty=True, truth="infinite", source="Counts in a type that is too small.")
def counts_that_wrap(count: int) -> int:
    """The count is held in eight bits."""
    return count % 256 + geometric(1)


@entry(ONE, faulty=False, truth="1", source="The twin: counts stop at the largest.")
def counts_that_stop(count: int) -> int:
    """The count is held in eight bits, and stays at the largest."""
    return min(count, 255) + geometric(1)


@entry(ONE, faulty=True, truth="3", source="A budget that is spent after drawing.")
def best_of_three(count: int) -> int:
    """Draws again where the result is no count, and pays for the last draw only."""
    first, second, third = (count + geometric(1) for _ in range(3))
    return max(first, second, third) if max(first, second, third) > 0 else min(first, second, third)


@entry(ONE, faulty=False, truth="1", source="The twin: three draws are paid.")
def best_of_three_that_are_paid(count: int) -> int:
    """Three draws share the budget."""
    return max(count + geometric(Fraction(1, 3)) for _ in range(3))


@entry(
    (([0] * 8, [1] + [0] * 7), ([2] * 8, [2] * 7 + [3])),
    faulty=True,
    truth="4",
    source="A tree whose levels are paid once: a record is in a node of each level.",
)
def a_tree_without_its_path(counts: list[int]) -> list[int]:
    """Sums of 1, 2, 4 and 8 leaves, each with the whole budget."""
    return [sum(counts[k : k + w]) + geometric(1) for w in (1, 2, 4, 8) for k in range(0, 8, w)]


@entry(
    (([0] * 8, [1] + [0] * 7), ([2] * 8, [2] * 7 + [3])),
    faulty=False,
    truth="1",
    source="M. Hay et al. Boosting the Accuracy of DP Histograms. VLDB 2010.",
)
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


@entry(
    ON_ONE_PATH,
    faulty=True,
    truth="3",
    source="Splits whose sensitivity is counted once: a record is in one node of each level.",
)
def splits_that_are_paid_once(counts: list[int]) -> list[int]:
    """A decision on each of three levels, each with the whole budget."""
    return _split(counts, 1)


@entry(ON_ONE_PATH, faulty=False, truth="1", source="The twin: a decision has a third.")
def splits_that_are_each_paid(counts: list[int]) -> list[int]:
    """A decision on each of three levels."""
    return _split(counts, Fraction(1, 3))
