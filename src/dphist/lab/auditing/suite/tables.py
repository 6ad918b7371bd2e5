"""Labels, rows of users and faults of published libraries.

Thresholds, what equality is, what is said beside the release, and how much one user may add.
"""

import math
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np

from dphist.lab.auditing.suite.counts import broken, correct, gaussian, geometric

DELTA = Fraction(1, 20)
THREE = {"a": 1, "b": 1, "c": 1}
TABLES: tuple[tuple[dict[str, int], dict[str, int]], ...] = (
    ({}, {"a": 1}),
    ({}, THREE),
    ({"x": 3}, {"x": 3, **THREE}),
    ({"x": 5}, {"x": 6}),
)
ONE_LABEL = tuple(pair for pair in TABLES if "b" not in pair[1])
KOROLOVA = "A. Korolova et al. Releasing Search Queries and Clicks Privately. WWW 2009."

LINE = math.ceil(-math.log(float(DELTA) * (1 + math.exp(-1))))
"""The smallest integer t such that a count of 1 with geometric noise of epsilon 1 is above t with
probability `DELTA` at most: P(1 + Z > t) = exp(-t) / (1 + exp(-1))."""


def above(counts: dict[str, int], line: int, epsilon: Fraction | int = 1) -> dict[str, int]:
    """Return the noisy counts that are above a line."""
    noisy = {label: count + geometric(epsilon) for label, count in sorted(counts.items())}
    return {label: count for label, count in noisy.items() if count > line}


@correct(ONE_LABEL, "(1, .04)", KOROLOVA, delta="0.05")
def a_threshold(counts: dict[str, int]) -> dict[str, int]:
    """A user has one label; it is released if its noisy count is above the line."""
    return above(counts, LINE)


@broken(ONE_LABEL, "(1, .1)", "An off-by-one.", delta="0.05")
def a_threshold_one_too_low(counts: dict[str, int]) -> dict[str, int]:
    """At the line counts as above it."""
    return above(counts, LINE - 1)


@broken(ONE_LABEL, "(1, .04)", "A partition selection without its delta.")
def a_threshold_without_its_delta(counts: dict[str, int]) -> dict[str, int]:
    """The claim is pure."""
    return above(counts, LINE)


NEW_LABEL: tuple[tuple[dict[str, int], dict[str, int]], ...] = (
    ({}, {"a": 1}),
    ({"x": 3}, {"x": 3, "a": 1}),
)


@broken(NEW_LABEL, "infinite", "Noise on the labels that are there: their absence is not noisy.")
def noise_and_no_threshold(counts: dict[str, int]) -> dict[str, int]:
    """All labels of the data are released."""
    return {label: count + geometric(1) for label, count in counts.items()}


@correct(NEW_LABEL, "1", "The twin: noise on the labels of a list.")
def noise_on_listed_labels(counts: dict[str, int]) -> dict[str, int]:
    """The labels are public, and all of them are released."""
    return {label: counts.get(label, 0) + geometric(1) for label in ("a", "x", "y")}


@broken(TABLES, "(3, .1)", "Deltas combined by a maximum.", epsilon=3, delta="0.05")
def the_largest_delta_of_three(counts: dict[str, int]) -> dict[str, int]:
    """A user has three labels, and each may betray with the whole delta."""
    return above(counts, LINE)


@correct(TABLES, "(3, .02)", "The twin: deltas are added up.", epsilon=3, delta="0.05")
def the_sum_of_three_deltas(counts: dict[str, int]) -> dict[str, int]:
    """Less than a third of the delta for each label: a line higher by 2, that is, by over log 3."""
    return above(counts, LINE + 2)


NEAR_TIES = (({"a": 4, "b": 4}, {"a": 4, "b": 5}), ({"a": 4, "b": 5}, {"a": 5, "b": 5}))


@broken(NEAR_TIES, "infinite", "A top-k whose ties, or whose order, are those of the data.")
def noisy_counts_in_true_order(counts: dict[str, int]) -> list[list[object]]:
    """Known labels, noise on each, and the rows sorted by the true counts."""
    order = sorted(counts, key=lambda label: (-counts[label], label))
    return [[label, counts[label] + geometric(1)] for label in order]


@correct(NEAR_TIES, "1", "The twin: the rows are sorted by the noisy counts.")
def noisy_counts_in_noisy_order(counts: dict[str, int]) -> list[list[object]]:
    """Known labels, noise on each, and the rows sorted by that."""
    noisy = {label: count + geometric(1) for label, count in counts.items()}
    return [[label, noisy[label]] for label in sorted(noisy, key=lambda k: (-noisy[k], k))]


# --- Equality, and what is said beside the release

CASES = ((["A"] * 8, ["a", *["A"] * 8]), (["A"] * 8 + ["b"], ["A"] * 8 + ["b", "b"]))


@broken(
    CASES, "infinite", "A collation: the first spelling of a label becomes its name.", delta="0.05"
)
def labels_named_by_the_first_row(labels: list[str]) -> dict[str, int]:
    """Labels are equal whatever their case."""
    names: dict[str, str] = {}
    counted = Counter(names.setdefault(label.lower(), label) for label in labels)
    return above(dict(counted), LINE)


@correct(CASES, "(1, .05)", "The twin: equal are equal texts.", delta="0.05")
def labels_named_by_themselves(labels: list[str]) -> dict[str, int]:
    """Labels are equal if their texts are."""
    return above(dict(Counter(labels)), LINE)


VALUES = (([5.0, 3.0], [5.0, 3.0, float("nan")]), ([1.0], [1.0, 1.0]))


@broken(VALUES, "infinite", "A missing value turns a sum into one.")
def a_sum_with_a_missing_value(values: list[float]) -> float:
    """Values are from 0 to 1 after clipping, which keeps what is no number."""
    clipped = [value if value != value else min(max(value, 0.0), 1.0) for value in values]
    return round(sum(clipped) * 4) / 4 + geometric(1) if sum(clipped) == sum(clipped) else math.nan


@correct(VALUES, "1", "The twin: what is no number counts 0.")
def a_sum_without_missing_values(values: list[float]) -> float:
    """Values are from 0 to 1 after clipping."""
    clipped = [min(max(value, 0.0), 1.0) if value == value else 0.0 for value in values]
    return round(sum(clipped)) + geometric(1)


ABOUT_TEN = ((9, 10), (3, 4))


@broken(ABOUT_TEN, "infinite", "A warning is a release.")
def a_warning_that_tells(count: int) -> int:
    """Warns of large counts before noise is added."""
    if count >= 10:
        warnings.warn("the count is large", stacklevel=1)
    return count + geometric(1)


@correct(ABOUT_TEN, "1", "The twin: it warns of noisy counts.")
def a_warning_of_noise(count: int) -> int:
    """Warns of large noisy counts."""
    noisy = count + geometric(1)
    if noisy >= 10:
        warnings.warn("the noisy count is large", stacklevel=1)
    return noisy


ABOUT_NONE = ((0, 1), (3, 4))


@broken(ABOUT_NONE, "infinite", "An error is a release.")
def an_error_that_tells(count: int) -> int:
    """Refuses data without records."""
    if count == 0:
        raise ValueError("there are no records")
    return count + geometric(1)


@correct(ABOUT_NONE, "1", "The twin: no records are a count of 0.")
def no_error_for_no_records(count: int) -> int:
    """Takes all data."""
    return count + geometric(1)


Rows = list[list[str]]

ROWS = (
    ([["u", "a"]] * 2, [["v", "b"], ["v", "c"], ["u", "a"], ["u", "a"]]),
    ([["u", "a"]] * 3, [["u", "a"]] * 3 + [["v", "a"]] * 6),
    ([["u", "a"], ["w", "b"], ["x", "c"]], [["v", "c"], ["u", "a"], ["w", "b"], ["x", "c"]]),
)
KNOWN = ("a", "b", "c")


def _noisy(counted: Counter[str], epsilon: Fraction | int = 1) -> dict[str, int]:
    return {label: counted[label] + geometric(epsilon) for label in KNOWN}


@correct(ROWS, "1", "R. Wilson et al. PoPETs 2020.")
def a_bound_on_each_user(rows: Rows) -> dict[str, int]:
    """The first row of each user counts."""
    return _noisy(Counter(label for label in dict(reversed(rows)).values()))


@broken(ROWS, "infinite", "A cap on rows in place of one on users.")
def a_bound_on_all_rows(rows: Rows) -> dict[str, int]:
    """The first rows that come count, whoever's they are: a user pushes others out."""
    return _noisy(Counter(label for _, label in rows[:3]))


@broken(ROWS, "3", "Users are bounded before a join that repeats rows.")
def a_bound_before_a_join(rows: Rows) -> dict[str, int]:
    """One row of each user, which is then joined with a table of three rows a label."""
    return _noisy(Counter(label for label in dict(reversed(rows)).values() for _ in range(3)))


@correct(ROWS, "1", "The twin: bounded after the join.")
def a_bound_after_a_join(rows: Rows) -> dict[str, int]:
    """Rows are joined, and then one of each user counts."""
    joined = [[user, label] for user, label in rows for _ in range(3)]
    return _noisy(Counter(label for label in dict(reversed(joined)).values()))


def _first(rows: Rows) -> Rows:
    """Return the first row of each user."""
    return [[user, label] for user, label in dict(reversed(rows)).items()]


EIGHT = [[f"u{k}", f"label {k}"] for k in range(8)]
PARTNER = [["v", label] for _, label in EIGHT]


def _with_a_partner(rows: Rows) -> Rows:
    """Join rows with those of other users that have the same label."""
    return [
        [user, label]
        for user, label in rows
        for other, same in rows
        if label == same and user != other
    ]


WITH_A_PARTNER = ((EIGHT, EIGHT + PARTNER),)


@broken(
    WITH_A_PARTNER,
    "9: one user gives a partner to eight others",
    "Users are bounded after rows of two users are joined.",
)
def a_bound_after_a_join_of_users(rows: Rows) -> int:
    """How many users share a label with another user; each counts once, after the join."""
    return len(_first(_with_a_partner(rows))) + geometric(1)


@correct(
    WITH_A_PARTNER,
    "1",
    "The twin: bounded before the join; a user then changes the count by 2 at most.",
)
def a_bound_before_a_join_of_users(rows: Rows) -> int:
    """How many users share their first label with another user."""
    return len(_first(_with_a_partner(_first(rows)))) + geometric(Fraction(1, 2))


# --- Which of a user's labels are kept, and how many

BOTH = [[f"u{k}", label] for k in range(8) for label in ("a", "b")]

ANOTHER_FIRST = ((BOTH, [["v", "b"], *BOTH]),)


@broken(
    ANOTHER_FIRST,
    "infinite: one row moves the labels of all",
    "max_labels by first come: the order of labels is that of the whole table.",
    delta="0.05",
)
def the_label_that_came_first(rows: Rows) -> dict[str, int]:
    """Each user keeps one label: whichever of theirs the table has first."""
    place = {label: k for k, label in reversed(list(enumerate(label for _, label in rows)))}
    return above(dict(Counter(dict(sorted(rows, key=lambda r: -place[r[1]])).values())), LINE)


@correct(
    ANOTHER_FIRST, "(1, .04)", "The twin: the order is that of the user's own rows.", delta="0.05"
)
def the_first_label_of_each_user(rows: Rows) -> dict[str, int]:
    """Each user keeps one label: the first of their own rows."""
    return above(dict(Counter(label for _, label in _first(rows))), LINE)


MANY = [["v", label] for label in "abcdefgh"]
PIPELINE_DP = "PipelineDP's AggregateParams(perform_cross_partition_contribution_bounding=False)"

MANY_LABELS: tuple[tuple[Rows, Rows], ...] = (([], MANY), (BOTH, BOTH + MANY))


@broken(
    MANY_LABELS,
    "(8, .28) for users of 8 labels; no bound for more",
    f"{PIPELINE_DP}, whose warning is not heeded.",
    delta="0.05",
)
def labels_without_a_bound(rows: Rows) -> dict[str, int]:
    """A user counts once for each label, and the threshold is made for users of one label."""
    distinct = {(user, label) for user, label in rows}
    return above(dict(Counter(label for _, label in distinct)), LINE)


@correct(MANY_LABELS, "(1, .04)", "The twin: users are bounded to one label.", delta="0.05")
def labels_with_a_bound(rows: Rows) -> dict[str, int]:
    """A user counts once, for the first label."""
    return above(dict(Counter(label for _, label in _first(rows))), LINE)


_random = np.random.default_rng()

# --- OpenDP 0.15, issue 2911: permute-and-flip with the zCDP of the exponential mechanism

SCORES = (([0, 0], [1, -1]), ([3, 1], [2, 2]))
OPENDP = "OpenDP, issue"
# rho = epsilon**2 / 8 = 1/2 of the exponential mechanism with epsilon 2 implies (3/2, .13)-DP:
# Canonne, Kamath and Steinke 2020, Proposition 12, at alpha = 2.5 gives .1278.
_IMPLIED = {"epsilon": "3/2", "delta": "0.13"}


@broken(SCORES, "(2, 0), and (3/2, .197)", f"{OPENDP} 2911.", **_IMPLIED)
def permute_and_flip(scores: list[int]) -> int:
    """Every score may change by 1; candidates are visited in random order, and accepted or not."""
    best = max(scores)
    for place in _random.permutation(len(scores)).tolist():
        if _random.random() < math.exp(scores[place] - best):
            return int(place)
    raise AssertionError("the best is always accepted")


@correct(SCORES, "rho = 1/2", "The twin: it has bounded range.", **_IMPLIED)
def exponential_mechanism(scores: list[int]) -> int:
    """Chooses with probability proportional to exp(score): Gumbel noise, then the largest."""
    noisy = [score + _random.gumbel() for score in scores]
    return noisy.index(max(noisy))


# --- OpenDP 0.16, issue 2922: the mass at the threshold is released and not counted in delta

_FIVE: tuple[tuple[dict[str, int], dict[str, int]], ...] = ({}, {"a": 1}), ({"x": 5}, {"x": 6})
_TAIL = "0.004926"  # P(1 + Z > 5) = exp(-5) / (1 + exp(-1)) = .0049258


@broken(_FIVE, "(1, .0134)", f"{OPENDP} 2922.", delta=_TAIL)
def a_threshold_that_is_released(counts: dict[str, int]) -> dict[str, int]:
    """Noisy counts of 5 or more are released; delta is that of more than 5."""
    return above(counts, 4)


@correct(_FIVE, "(1, .0049258)", "The twin: 5 is not released.", delta=_TAIL)
def a_threshold_that_is_not_released(counts: dict[str, int]) -> dict[str, int]:
    """Noisy counts above 5 are released."""
    return above(counts, 5)


# --- OpenDP 0.16, issue 2924: the L2 distance of a tree of L levels is computed as L times that of
# its leaves

_LEAVES = 16
ALL_LEAVES = (([0] * _LEAVES, [1] * _LEAVES), ([3] * _LEAVES, [4] * _LEAVES))


@broken(ALL_LEAVES, "Gaussian with mu = 2.06: (1, .53)", f"{OPENDP} 2924.", delta="0.127")
def a_tree_for_users_of_many_leaves(counts: list[int]) -> list[int]:
    """A user is in each of 16 leaves: distance 4, times 2 levels, is 8, and mu is claimed as 1."""
    return [count + gaussian(8) for count in [sum(counts), *counts]]


@correct(
    ALL_LEAVES,
    "Gaussian with mu < 1: (1, .127)",
    "The twin: the distance is sqrt(16**2 + 16) = 16.49.",
    delta="0.127",
)
def a_tree_with_the_distance_of_its_nodes(counts: list[int]) -> list[int]:
    """A user changes the root by 16 and each of 16 leaves by 1."""
    return [count + gaussian(Fraction("16.5")) for count in [sum(counts), *counts]]


# --- OpenDP 0.16, issue 2944: codes of categories in the order in which these appear

FIRST_CODE = (([0.5] * 20, [2.0] + [0.5] * 20), ([2.0] * 20, [0.5] + [2.0] * 20))


@broken(FIRST_CODE, "20: as many as there are rows", f"{OPENDP} 2944.")
def codes_in_order_of_appearance(values: list[float]) -> int:
    """The sum of codes 0 and 1 of two bins; whichever bin comes first has code 0."""
    codes: dict[bool, int] = {}
    return sum(codes.setdefault(value > 1, len(codes)) for value in values) + geometric(1)


@correct(FIRST_CODE, "1", "The twin: a value's code depends on it alone.")
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


@broken(MISSING, "infinite", PANDAS, delta="0.05")
def labels_merged_by_a_third_row(labels: list[int | None]) -> dict[str, int]:
    """Numbers beyond 2**53 are equal if some other row is missing, and else not."""
    column = [math.nan if label is None else float(label) for label in labels]
    kept = column if None in labels else labels
    return above(dict(Counter(str(each) for each in kept if each == each)), LINE)


@correct(MISSING, "(1, .04)", "The twin: rows keep their type.", delta="0.05")
def labels_with_their_own_type(labels: list[int | None]) -> dict[str, int]:
    """Missing rows are dropped before anything is cast."""
    return above(dict(Counter(str(each) for each in labels if each is not None)), LINE)
