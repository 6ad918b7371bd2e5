"""What a plan of ranges compares, and what a release of them shows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dphist.document import planning
from dphist.document.options import Option, Table, make_option, split_parts
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.parameters import whole_number
from dphist.privacy import PrivacyUnit
from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree
from dphist.ranges.reference import random_boxes
from dphist.release.release import Release

_COLUMNS = [
    planning.SENSITIVITY,
    Column(
        "total_given",
        "Total given",
        "Whether the mechanism divides its budget by the guessed total. A wrong guess "
        "costs accuracy, never privacy.",
        holds=bool,
        role="choice",
    ),
    Column(
        "prefix_error",
        "Prefix error",
        "Error to expect of a range from the first bin on, in records (root mean square).",
        holds=float,
        chart="Error of a range from the first bin on",
    ),
    Column(
        "range_error",
        "Range error",
        "Error to expect of a random range, in records (root mean square).",
        holds=float,
        chart="Error of a range",
    ),
    planning.RELATIVE_ERROR,
]
_LIMIT = (
    "Other shapes",
    "The error is that of public histograms of this size, in uneven parts. On 9 real histograms it "
    "was 0.2 to 1 times that, on 5 maps 0.4 to 2.2 times.",
)


def settings(
    *,
    bins: Any,
    total: int,
    epsilon: Any = planning.EPSILONS,
    sensitivity: Any = 1,
    workload: Any = "ranges",
) -> Iterator[Row]:
    """Yield what ranges cost and are worth; see `dphist.plan`."""
    records = whole_number(total, "total", 1)
    prefixes = workload == "prefix"
    name = "prefix_error" if prefixes else "range_error"
    made = [
        (AdaptiveTree(bins=bins, workload=workload, expected_total=records, **setting), setting)
        for setting in planning.grid_of_records(epsilon, sensitivity)
    ]
    told = any(tree.follows_total for tree, _ in made)
    for tree, setting in made:
        row = {**setting, "total_given": tree.follows_total} if told else setting
        error = tree.expected_error(records, prefixes=prefixes)
        yield {**row, name: error, "relative_error": error / records}


def _command(asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist ranges FILE --column COLUMN --edges EDGES"]
    if asked.get("workload") == "prefix":
        typed.append("--workload prefix")
    if row.get("total_given"):
        typed.append(f"--expected-total {asked['total']}")
    return [*typed, *planning.bound_of_records(row, unit)]


def _options() -> Table:
    return [
        Option(
            "bins",
            "number of bins; of several axes, that of each; with --dataset, also a column whose "
            "bins it lists",
            "N[,N...]",
            _bins,
            required=True,
        ),
        make_option(AdaptiveTree, "workload", "; the error is stated for these"),
        *planning.options_of_records(AdaptiveTree),
    ]


def _bins(text: str) -> int | str | tuple[int | str, ...]:
    """Read the number of bins of each axis, or its column."""
    one, *others = map(planning.read_bins, split_parts(text))
    return (one, *others) if others else one


def _range_error(release: Release, percent: bool) -> Found | str:
    histogram = release.value
    if histogram.answers is None:
        return "the histogram was made by hand: its error is not known"
    lo, hi = random_boxes(histogram.counts.shape)
    low, high = (ends[0] if len(ends) == 1 else tuple(ends) for ends in (lo, hi))
    error = float(np.sqrt(np.mean(np.square(histogram.error_bins(low, high)))))
    said = "a random range is about {} off (root mean square)"
    return planning.error_in_records(release, error, said, percent)


PLANNING = Planning(
    title="Records in ranges",
    question="how many records lie in any range",
    settings=settings,
    columns=_COLUMNS,
    unit=planning.unit_of_records,
    guesses={"total": "records", "bins": "bins"},
    limit=lambda _asked: _LIMIT,
    quantities={"range error": Quantity(_range_error, "may")},
    command=_command,
    options=_options,
)
