"""Labels that nobody listed: thresholds, what equality is, and what is said beside the release."""

import math
import warnings
from collections import Counter
from fractions import Fraction

from dphist.lab.auditing.suite.entry import entry, geometric

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


@entry(ONE_LABEL, faulty=False, truth="(1, .04)", source=KOROLOVA, delta="0.05")
def a_threshold(counts: dict[str, int]) -> dict[str, int]:
    """A user has one label; it is released if its noisy count is above the line."""
    return above(counts, LINE)


@entry(ONE_LABEL, faulty=True, truth="(1, .1)", source="An off-by-one.", delta="0.05")
def a_threshold_one_too_low(counts: dict[str, int]) -> dict[str, int]:
    """At the line counts as above it."""
    return above(counts, LINE - 1)


@entry(ONE_LABEL, faulty=True, truth="(1, .04)", source="A partition selection without its delta.")
def a_threshold_without_its_delta(counts: dict[str, int]) -> dict[str, int]:
    """The claim is pure."""
    return above(counts, LINE)


@entry(
    (({}, {"a": 1}), ({"x": 3}, {"x": 3, "a": 1})),
    faulty=True,
    truth="infinite",
    source="Noise on the labels that are there: their absence is not noisy.",
)
def noise_and_no_threshold(counts: dict[str, int]) -> dict[str, int]:
    """All labels of the data are released."""
    return {label: count + geometric(1) for label, count in counts.items()}


@entry(
    (({}, {"a": 1}), ({"x": 3}, {"x": 3, "a": 1})),
    faulty=False,
    truth="1",
    source="The twin: noise on the labels of a list.",
)
def noise_on_listed_labels(counts: dict[str, int]) -> dict[str, int]:
    """The labels are public, and all of them are released."""
    return {label: counts.get(label, 0) + geometric(1) for label in ("a", "x", "y")}


@entry(TABLES, faulty=True, truth="(3, .1)", source="Deltas combined by a maximum.",
       epsilon=3, delta="0.05")  # fmt: skip
def the_largest_delta_of_three(counts: dict[str, int]) -> dict[str, int]:
    """A user has three labels, and each may betray with the whole delta."""
    return above(counts, LINE)


@entry(TABLES, faulty=False, truth="(3, .02)", source="The twin: deltas are added up.",
       epsilon=3, delta="0.05")  # fmt: skip
def the_sum_of_three_deltas(counts: dict[str, int]) -> dict[str, int]:
    """Less than a third of the delta for each label: a line higher by 2, that is, by over log 3."""
    return above(counts, LINE + 2)


@entry(
    (({"a": 4, "b": 4}, {"a": 4, "b": 5}), ({"a": 4, "b": 5}, {"a": 5, "b": 5})),
    faulty=True,
    truth="infinite",
    source="A top-k whose ties, or whose order, are those of the data.",
)
def noisy_counts_in_true_order(counts: dict[str, int]) -> list[list[object]]:
    """Known labels, noise on each, and the rows sorted by the true counts."""
    order = sorted(counts, key=lambda label: (-counts[label], label))
    return [[label, counts[label] + geometric(1)] for label in order]


@entry(
    (({"a": 4, "b": 4}, {"a": 4, "b": 5}), ({"a": 4, "b": 5}, {"a": 5, "b": 5})),
    faulty=False,
    truth="1",
    source="The twin: the rows are sorted by the noisy counts.",
)
def noisy_counts_in_noisy_order(counts: dict[str, int]) -> list[list[object]]:
    """Known labels, noise on each, and the rows sorted by that."""
    noisy = {label: count + geometric(1) for label, count in counts.items()}
    return [[label, noisy[label]] for label in sorted(noisy, key=lambda k: (-noisy[k], k))]


# --- Equality, and what is said beside the release

CASES = ((["A"] * 8, ["a", *["A"] * 8]), (["A"] * 8 + ["b"], ["A"] * 8 + ["b", "b"]))


@entry(
    CASES,
    faulty=True,
    truth="infinite",
    source="A collation: the first spelling of a label becomes its name.",
    delta="0.05",
)
def labels_named_by_the_first_row(labels: list[str]) -> dict[str, int]:
    """Labels are equal whatever their case."""
    names: dict[str, str] = {}
    counted = Counter(names.setdefault(label.lower(), label) for label in labels)
    return above(dict(counted), LINE)


@entry(CASES, faulty=False, truth="(1, .05)", source="The twin: equal are equal texts.",
       delta="0.05")  # fmt: skip
def labels_named_by_themselves(labels: list[str]) -> dict[str, int]:
    """Labels are equal if their texts are."""
    return above(dict(Counter(labels)), LINE)


@entry(
    (([5.0, 3.0], [5.0, 3.0, float("nan")]), ([1.0], [1.0, 1.0])),
    faulty=True,
    truth="infinite",
    source="A missing value turns a sum into one.",
)
def a_sum_with_a_missing_value(values: list[float]) -> float:
    """Values are from 0 to 1 after clipping, which keeps what is no number."""
    clipped = [value if value != value else min(max(value, 0.0), 1.0) for value in values]
    return round(sum(clipped) * 4) / 4 + geometric(1) if sum(clipped) == sum(clipped) else math.nan


@entry(
    (([5.0, 3.0], [5.0, 3.0, float("nan")]), ([1.0], [1.0, 1.0])),
    faulty=False,
    truth="1",
    source="The twin: what is no number counts 0.",
)
def a_sum_without_missing_values(values: list[float]) -> float:
    """Values are from 0 to 1 after clipping."""
    clipped = [min(max(value, 0.0), 1.0) if value == value else 0.0 for value in values]
    return round(sum(clipped)) + geometric(1)


@entry(((9, 10), (3, 4)), faulty=True, truth="infinite", source="A warning is a release.")
def a_warning_that_tells(count: int) -> int:
    """Warns of large counts before noise is added."""
    if count >= 10:
        warnings.warn("the count is large", stacklevel=1)
    return count + geometric(1)


@entry(((9, 10), (3, 4)), faulty=False, truth="1", source="The twin: it warns of noisy counts.")
def a_warning_of_noise(count: int) -> int:
    """Warns of large noisy counts."""
    noisy = count + geometric(1)
    if noisy >= 10:
        warnings.warn("the noisy count is large", stacklevel=1)
    return noisy


@entry(((0, 1), (3, 4)), faulty=True, truth="infinite", source="An error is a release.")
def an_error_that_tells(count: int) -> int:
    """Refuses data without records."""
    if count == 0:
        raise ValueError("there are no records")
    return count + geometric(1)


@entry(((0, 1), (3, 4)), faulty=False, truth="1", source="The twin: no records are a count of 0.")
def no_error_for_no_records(count: int) -> int:
    """Takes all data."""
    return count + geometric(1)
