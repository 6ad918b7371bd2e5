"""Faults that were found in published libraries, each in a few lines, with a correct twin."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np

from dphist.lab.auditing.suite.entry import entry, gaussian, geometric
from dphist.lab.auditing.suite.labels import LINE, above

_random = np.random.default_rng()

# --- OpenDP 0.15, issue 2911: permute-and-flip with the zCDP of the exponential mechanism

SCORES = (([0, 0], [1, -1]), ([3, 1], [2, 2]))
OPENDP = "OpenDP, issue"
# rho = epsilon**2 / 8 = 1/2 of the exponential mechanism with epsilon 2 implies (3/2, .13)-DP:
# Canonne, Kamath and Steinke 2020, Proposition 12, at alpha = 2.5 gives .1278.
_IMPLIED = {"epsilon": "3/2", "delta": "0.13"}


@entry(SCORES, faulty=True, truth="(2, 0), and (3/2, .197)", source=f"{OPENDP} 2911.", **_IMPLIED)
def permute_and_flip(scores: list[int]) -> int:
    """Every score may change by 1; candidates are visited in random order, and accepted or not."""
    best = max(scores)
    for place in _random.permutation(len(scores)).tolist():
        if _random.random() < math.exp(scores[place] - best):
            return int(place)
    raise AssertionError("the best is always accepted")


@entry(SCORES, faulty=False, truth="rho = 1/2", source="The twin: it has bounded range.",
       **_IMPLIED)  # fmt: skip
def exponential_mechanism(scores: list[int]) -> int:
    """Chooses with probability proportional to exp(score): Gumbel noise, then the largest."""
    noisy = [score + _random.gumbel() for score in scores]
    return noisy.index(max(noisy))


# --- OpenDP 0.16, issue 2922: the mass at the threshold is released and not counted in delta

_FIVE: tuple[tuple[dict[str, int], dict[str, int]], ...] = ({}, {"a": 1}), ({"x": 5}, {"x": 6})
_TAIL = "0.004926"  # P(1 + Z > 5) = exp(-5) / (1 + exp(-1)) = .0049258


@entry(_FIVE, faulty=True, truth="(1, .0134)", source=f"{OPENDP} 2922.", delta=_TAIL)
def a_threshold_that_is_released(counts: dict[str, int]) -> dict[str, int]:
    """Noisy counts of 5 or more are released; delta is that of more than 5."""
    return above(counts, 4)


@entry(_FIVE, faulty=False, truth="(1, .0049258)", source="The twin: 5 is not released.",
       delta=_TAIL)  # fmt: skip
def a_threshold_that_is_not_released(counts: dict[str, int]) -> dict[str, int]:
    """Noisy counts above 5 are released."""
    return above(counts, 5)


# --- OpenDP 0.16, issue 2924: the L2 distance of a tree of L levels is taken for L times that of
# its leaves

_LEAVES = 16
ALL_LEAVES = (([0] * _LEAVES, [1] * _LEAVES), ([3] * _LEAVES, [4] * _LEAVES))


@entry(
    ALL_LEAVES,
    faulty=True,
    truth="Gaussian with mu = 2.06: (1, .53)",
    source=f"{OPENDP} 2924.",
    delta="0.127",
)
def a_tree_for_users_of_many_leaves(counts: list[int]) -> list[int]:
    """A user is in each of 16 leaves: distance 4, times 2 levels, is 8, and mu is claimed as 1."""
    return [count + gaussian(8) for count in [sum(counts), *counts]]


@entry(
    ALL_LEAVES,
    faulty=False,
    truth="Gaussian with mu < 1: (1, .127)",
    source="The twin: the distance is sqrt(16**2 + 16) = 16.49.",
    delta="0.127",
)
def a_tree_with_the_distance_of_its_nodes(counts: list[int]) -> list[int]:
    """A user changes the root by 16 and each of 16 leaves by 1."""
    return [count + gaussian(Fraction("16.5")) for count in [sum(counts), *counts]]


# --- OpenDP 0.16, issue 2944: codes of categories in the order in which these appear

FIRST_CODE = (([0.5] * 20, [2.0] + [0.5] * 20), ([2.0] * 20, [0.5] + [2.0] * 20))


@entry(FIRST_CODE, faulty=True, truth="20: as many as there are rows", source=f"{OPENDP} 2944.")
def codes_in_order_of_appearance(values: list[float]) -> int:
    """The sum of codes 0 and 1 of two bins; whichever bin comes first has code 0."""
    codes: dict[bool, int] = {}
    return sum(codes.setdefault(value > 1, len(codes)) for value in values) + geometric(1)


@entry(FIRST_CODE, faulty=False, truth="1", source="The twin: a value's code depends on it alone.")
def codes_of_bins(values: list[float]) -> int:
    """The sum of codes 0 and 1 of two bins, of which the lower has code 0."""
    return sum(value > 1 for value in values) + geometric(1)


# --- pandas: whole numbers become floats where one of them is missing

_LARGE = [2**53] * 8 + [2**53 + 1] * 8
MISSING: tuple[tuple[list[int | None], list[int | None]], ...] = (
    ([*_LARGE], [*_LARGE, None]),
    ([*_LARGE], [*_LARGE, 2**53]),
)
PANDAS = "pandas, Working with missing data: integers with a missing value are cast to float64."


@entry(MISSING, faulty=True, truth="infinite", source=PANDAS, delta="0.05")
def labels_merged_by_a_third_row(labels: list[int | None]) -> dict[str, int]:
    """Numbers beyond 2**53 are equal if some other row is missing, and else not."""
    column = [math.nan if label is None else float(label) for label in labels]
    kept = column if None in labels else labels
    return above(dict(Counter(str(each) for each in kept if each == each)), LINE)


@entry(MISSING, faulty=False, truth="(1, .04)", source="The twin: rows keep their type.",
       delta="0.05")  # fmt: skip
def labels_with_their_own_type(labels: list[int | None]) -> dict[str, int]:
    """Missing rows are dropped before anything is cast."""
    return above(dict(Counter(str(each) for each in labels if each is not None)), LINE)
