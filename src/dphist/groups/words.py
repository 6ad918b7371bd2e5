"""What is said of histograms by group, in sentences with slots for the owner's words."""

from collections.abc import Sequence

from dphist.document.blocks import PlusMinus
from dphist.document.guarantee_words import error_in_short
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.overview import (
    GroupLine,
    column_text,
    estimate_text,
    interval_text,
    sort_by_median,
)
from dphist.sentence import Sentence, many
from dphist.visible import harmless

TITLE = Sentence("{Records} by group and range")
NEIGHBORS = Sentence(
    "D and D′ are neighbors if adding or removing one {record} turns one into the other. Moving "
    "{a_record} to another group or bin removes one and adds one, which costs what is stated for "
    "one that is exchanged."
)
LIMITS = [
    (
        "The groups and the edges.",
        "They are published, and must be fixed without looking at the data. If they were taken "
        "from the data, the guarantee does not cover what they reveal.",
    ),
]
LIMITS_OF_FOUND = [
    (
        "The column of the groups and the edges.",
        "They are published, and must be fixed without looking at the data, and so must how groups "
        "are found. The guarantee covers which groups were found.",
    ),
]
OF_QUANTILES = Sentence(
    "A share of the {records} of the group lies below each place. The true place is between the "
    "two edges with a probability of about 95 %, for each group and quantile by itself: of 20 "
    "groups, one may lie outside. Of a group that is too small beside the noise, nothing is said."
)
UNLISTED = Sentence("{records} in no bin, or of no group")
OF_COUNTS = (
    "± stands for half of a 95 % interval. An interval holds the true number in about 95 % of "
    "releases or more, for each group by itself."
)
_SHOWN, _LETTERS = 8, 40


def make_title(value: HistogramsByGroup) -> Sentence:
    """Return the heading: what is measured, by which column."""
    name = harmless(value.name, _LETTERS)
    if not value.histograms[0].has_edges:
        return Sentence("{Records} by bin and {name}", name=name)
    return Sentence("{column} by {name}", column=column_text(value).capitalize(), name=name)


def say_result(
    value: HistogramsByGroup, lines: Sequence[GroupLine], count: float, error: PlusMinus
) -> Sentence:
    """Return the result in one sentence for a manager."""
    known = [line for line in sort_by_median(lines) if line.median.is_known]
    whole = Sentence(
        "{count:,.0f} ± {error} {records} in {groups}",
        count=count,
        error=error.number,
        groups=many(len(lines), "group"),
    )
    if not known:
        return Sentence(
            "{whole}: the groups are too small beside the noise for medians. ± stands for half of "
            "a 95 % interval.",
            whole=whole,
        )
    ends = [
        f"{estimate_text(value, line.median)} ({interval_text(value, line.median)}) of {line.name}"
        for line in (known[0], known[-1])
    ]
    small = len(lines) - len(known)
    unknown = f", and not known of {small:,} that are too small" if small else ""
    medians = "the median is {first}" if len(known) == 1 else "medians from {first} to {last}"
    return Sentence(
        f"{{whole}}; {medians}{unknown}. ± stands for half of a 95 % interval; in brackets stand "
        "95 % intervals.",
        whole=whole,
        first=ends[0],
        last=ends[1],
    )


def list_small(lines: Sequence[GroupLine]) -> str:
    """Name the first groups that are too small.

    >>> list_small([])
    ''
    """
    names = [line.name for line in lines if not line.median.is_known]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def say_expected(total: int, error: float) -> Sentence:
    """Say what error to expect of a group with that many records.

    >>> say_expected(10_000, 30.0)
    'of a group with 10,000 records, the number below a place is about 30 records off: a quantile \
is as far off as 0.3 % of the group'
    """
    return Sentence(
        "of a group with {records}, the number below a place is about {error} off: a quantile is "
        "as far off as {share:.2g} % of the group",
        records=many(total, "record"),
        error=error_in_short(error),
        share=100 * error / max(total, 1),
    )
