"""What is said of histograms over ranges, in sentences with slots for the owner's words."""

from typing import Any

import numpy as np

from dphist.document import unit_words
from dphist.document.blocks import Between, PlusMinus, number_text
from dphist.document.guarantee_words import error_in_short
from dphist.document.kind import DataFacts
from dphist.document.unit_words import Counted, with_missing
from dphist.privacy import PrivacyUnit
from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree
from dphist.ranges.overview import Parts, Quantile, axis_text, short_edges, sum_all
from dphist.release.maker import Maker
from dphist.release.range_histogram import RangeHistogram
from dphist.sentence import Sentence, many

TITLE = Sentence("{Records} by range")
OF_QUANTILES = Sentence(
    "A share of the {records} in the bins lies below each place of the quantiles. The true place "
    "is between the two edges with probability of about 95 %, for each quantile by itself. Within "
    "a bin, {records} are taken to be spread evenly. A quantile that could be in "
    "any bin is not known."
)
NO_QUANTILES = Sentence("There are no {records} by the estimates, so there are no quantiles.")
_USUAL = "95 %; half of the {records} are in bins with a smaller one"
_HALF = "± stands for half of a 95 % interval"


def make_title(histogram: RangeHistogram) -> Sentence:
    """Return the heading: what is counted, by which columns."""
    if not histogram.has_edges:
        return Sentence(f"{{Records}} by {'bin' if histogram.counts.ndim == 1 else 'cell'}")
    return Sentence("{Records} by {names}", names=names_in_words(histogram))


def describe_result(
    histogram: RangeHistogram, quantiles: list[Quantile], first: Parts, name: str
) -> Sentence:
    """Return the result in one sentence for a manager.

    Parameters
    ----------
    quantiles : of the only axis.
    first : parts of the first axis.
    name : of the first axis.
    """
    count, error = sum_all(histogram)
    all_bins = Sentence(
        "{count} ± {error} {records}",
        count=number_text(count),
        error=PlusMinus(error).number,
    )
    if not count > 0:
        return Sentence(
            "By the estimates the bins are empty: {all_bins} in all, where {half}.",
            all_bins=all_bins,
            half=_HALF,
        )
    if histogram.counts.ndim > 1:
        return _fullest(histogram, all_bins, first, name)
    found = {each.share: f"{each.place} ({each.interval})" for each in quantiles}
    known = {each.share for each in quantiles if each.is_known}
    start, stop = short_edges(histogram.edges[0][[0, -1]], histogram.axes[0].zone)
    where = "with {name} from {start} to {stop}" if histogram.has_edges else "in {bins:,} bins"
    spread = "half of them lie below {half}, and nine in ten between {low} and {high}"
    if 0.5 not in known:
        spread = "where half of them lie is not known"
    elif not {0.05, 0.95} <= known:
        spread = "half of them lie below {half}"
    brackets = "; in brackets stand 95 % intervals" if 0.5 in known else ""
    return Sentence(
        f"{{all_bins}} {where}; {spread}. {{plus_minus}}{brackets}.",
        all_bins=all_bins,
        name=name,
        start=start,
        stop=stop,
        bins=histogram.counts.size,
        half=found[0.5],
        low=found[0.05],
        high=found[0.95],
        plus_minus=_HALF,
    )


def _fullest(histogram: RangeHistogram, all_bins: str, first: Parts, name: str) -> Sentence:
    """Say where the first axis has most."""
    if len(first.counts) < 3:
        return Sentence(
            "{all_bins} in {bins:,} bins, where {half}.",
            all_bins=all_bins,
            bins=histogram.counts.size,
            half=_HALF,
        )
    best = int(np.argmax(first.counts))
    return Sentence(
        "{all_bins} in {bins:,} bins. Of {parts} parts of {name}, {start} to {stop} has the most: "
        "{most} ({interval}). {half}; in brackets stands a 95 % interval.",
        all_bins=all_bins,
        bins=histogram.counts.size,
        parts=len(first.counts),
        name=name,
        start=first.edges[best],
        stop=first.edges[best + 1],
        most=number_text(first.counts[best]),
        interval=Between(int(first.low[best]), int(first.high[best])),
        half=_HALF,
    )


def neighbors_in_words(sensitivity: int, data: DataFacts) -> Sentence:
    """State which data are neighbors, and what becomes of rows without a user."""
    found = _neighbors_in_words(sensitivity, data.unit, data.counts_users)
    return with_missing(found, data.unit, data.bounds)


def _neighbors_in_words(sensitivity: int, unit: PrivacyUnit | None, counts_users: bool) -> Sentence:
    if counts_users and unit is not None:
        return Sentence(
            "D and D′ are neighbors if adding or removing {unit}, with all of its rows, turns one "
            "into the other. Each is counted once, however many rows it has.",
            unit=unit_words.unit_in_words(unit),
        )
    if sensitivity == 1 and unit is None:
        return Sentence(
            "D and D′ are neighbors if adding or removing one {record} turns one into the other. "
            "Moving {a_record} to another bin removes one and adds one, which costs twice the "
            "epsilon."
        )
    return unit_words.neighbors_in_words(sensitivity, unit)


def limits_in_words(has_edges: bool) -> list[tuple[str, str]]:
    """Say what the guarantee does not cover of ranges: what it is about, and how."""
    return [
        (
            "The edges." if has_edges else "The number of bins.",
            "They are published, and must be fixed without looking at the data. If they were taken "
            "from the data, the guarantee does not cover what they reveal.",
        ),
    ]


def axes_in_words(histogram: RangeHistogram) -> str:
    """Say what is divided into bins.

    >>> axes_in_words(RangeHistogram(np.zeros((2, 3), np.int64)))
    'axis 1 in 2 bins; axis 2 in 3 bins'
    """
    if not histogram.has_edges and histogram.counts.ndim == 1:
        return "numbered from 0"
    described = []
    for axis, bins in enumerate(histogram.counts.shape):
        text = axis_text(histogram, axis)
        if histogram.has_edges:
            zone = histogram.axes[axis].zone
            first, last = short_edges(histogram.edges[axis][[0, -1]], zone)
            text += f" from {first} to {last}"
        # The number of bins of a single axis stands before this text already.
        number = f" in {bins:,} bin{'s'[: bins > 1]}" if histogram.counts.ndim > 1 else ""
        described.append(text + number)
    return "; ".join(described)


def zones_in_words(histogram: RangeHistogram) -> str:
    """Name the time zones of the axes, with their axes if they differ; empty if none has one.

    >>> from dphist import Axis
    >>> axis = Axis.from_edges(["2024-03-31", "2024-04-01"], "t", tz="Europe/Zurich")
    >>> zones_in_words(RangeHistogram(np.array([3]), (axis,)))
    'Europe/Zurich'
    """
    zones = {axis_text(histogram, at): axis.zone for at, axis in enumerate(histogram.axes)}
    named = {name: zone for name, zone in zones.items() if zone is not None}
    if len(set(named.values())) < 2:
        return "".join(list(named.values())[:1])
    return "; ".join(f"{name}: {zone}" for name, zone in named.items())


def names_in_words(histogram: RangeHistogram) -> str:
    """Name all axes.

    >>> names_in_words(RangeHistogram(np.zeros((2, 3, 4), np.int64)))
    'axis 1, axis 2 and axis 3'
    """
    *names, last = (axis_text(histogram, axis) for axis in range(histogram.counts.ndim))
    return f"{', '.join(names)} and {last}" if names else last


def usual_in_words(counted: Counted) -> Sentence:
    """Say which error of a bin is stated."""
    return Sentence(f"{_USUAL}{counted.noise}")


def errors_in_words(mechanism: Maker) -> Sentence:
    """Say what errors mean and what determines them."""
    start = (
        f"{_HALF}, 1.96 standard errors. An interval holds the true number in about 95 % of "
        "releases or more, for each number by itself. "
    )
    if isinstance(mechanism, AdaptiveTree):
        return Sentence(
            f"{start}The error follows from the noisy counts and from their noise. It assumes "
            "nothing about how {records} are spread over bins that were counted together. There "
            "the error is as large as the count of all these bins allows."
        )
    if isinstance(mechanism, HierarchicalTree) and mechanism.nonnegative:
        return Sentence(
            f"{start}For estimates that may be negative, the mechanism alone determines the error. "
            "It is increased by as much as making the estimates non-negative changed them."
        )
    return Sentence(f"{start}The mechanism alone determines the error.")


def error_if(guess: int, error: float) -> Sentence:
    """Say what error to expect if there are that many records.

    >>> error_if(10_000, 3.2)
    'a range is about 3.2 records off if there are 10,000 records'
    """
    return Sentence(
        "a range is about {error} off if there are {records}",
        error=error_in_short(error),
        records=many(guess, "record"),
    )


def bins_in_words(bins: Any) -> str:
    """Write the number of bins of each axis.

    >>> bins_in_words((1440, 3))
    '1,440 by 3'
    """
    return " by ".join(f"{each:,}" for each in bins)
