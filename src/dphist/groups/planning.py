"""What a plan of groups compares, and what a release of them shows."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dphist.document import planning
from dphist.document.options import Option, Table
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.groups.mechanism import GroupedHistogram
from dphist.parameters import privacy_parameter, whole_number
from dphist.privacy import PrivacyUnit
from dphist.release.release import Release

_COLUMNS = [
    Column(
        "max_rows",
        "Rows kept",
        "Rows of one {one} that are counted at most, in all groups together.",
        role="bound",
        counted=("row", "rows"),
    ),
    Column(
        "rank_error",
        "Rank error",
        "Error to expect of the number of records of a group below a place, in records (root mean "
        "square), if the group has {total:,}.",
        holds=float,
        chart="Error of a rank in a group",
    ),
    Column(
        "of_group",
        "Of the group",
        "That error as a share of the group: a median is between the quantiles that far from 50 %.",
        holds=float,
        share=True,
    ),
]
_LIMIT = (
    "Small groups",
    "The error hardly depends on the size of a group, so it is a large share of a small one: of a "
    "group with fewer records than the error nothing can be said. Rows beyond the bound of a user "
    "are missing even without noise.",
)


def settings(
    *, bins: int, total: int, epsilon: Any = planning.EPSILONS, max_rows: Any = 1
) -> Iterator[Row]:
    """Yield what groups cost and are worth, for a group of about `total` records."""
    records = whole_number(total, "total", 1)
    asked = planning.grid(
        max_rows=(max_rows, planning.one_or_more), epsilon=(epsilon, privacy_parameter)
    )
    for setting in asked:
        made = GroupedHistogram(groups={"group": [0]}, bins=bins, **setting)
        error = made.expected_error(records)
        yield {**setting, "rank_error": error, "of_group": error / records}


def _command(_asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist groups FILE --group NAME=VALUES --column COLUMN --bins START:STOP:WIDTH"]
    if row["max_rows"] == 1:
        return [*typed, "--each-row-is-one-person"]
    return [*typed, f"--user COLUMN --max-rows {row['max_rows']}", *planning.make_unit_option(unit)]


def _options() -> Table:
    return [
        Option(
            "bins",
            "number of bins of each group; with --dataset, also a column whose bins it lists",
            "N",
            planning.read_bins,
            required=True,
        ),
        planning.guess(
            "total", "a public guess of the number of records of a usual group", required=True
        ),
        planning.make_compared_option(GroupedHistogram, "max_rows"),
    ]


def _rank_error(release: Release, percent: bool) -> Found | str:
    """Return the error of ranks in the group where it is largest."""
    errors = []
    for each in release.value.histograms:
        if each.answers is None:
            return "the histograms were made by hand: their error is not known"
        found = each.error_bins(0, np.arange(1, each.counts.size + 1))
        errors.append(math.sqrt(float(np.mean(np.square(found)))))
    said = "the number of a group below a place is about {} off (root mean square)"
    return planning.error_in_records(release, max(errors), said, percent)


PLANNING = Planning(
    title="Quantiles of groups",
    question="how a number is distributed in each group",
    settings=settings,
    columns=_COLUMNS,
    unit=planning.unit_of_rows,
    guesses={"total": "records", "bins": "bins"},
    limit=lambda _asked: _LIMIT,
    quantities={"rank error": Quantity(_rank_error, "may")},
    command=_command,
    options=_options,
)
