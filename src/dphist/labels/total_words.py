"""What pages, terminals, JSON and CSV say of what clamping took from sums of labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dphist.document.blocks import ON_PAGE, Block, Column, Fact, Table
from dphist.document.bounding import format_share
from dphist.document.small_counts import is_below, write_below
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.parameters import decimal_text
from dphist.privacy.as_text import float_up, plain, up
from dphist.release.interval_estimate import name_columns
from dphist.release.release import Release
from dphist.release.users_by_size import WIDEST
from dphist.release.users_by_total import UsersByTotal
from dphist.sentence import Quoted, Sentence
from dphist.visible import harmless

_LONGEST = 60
_OF_LABELS = "of one of their {labels} that count, shown or not"


def read_totals(release: Release) -> Mapping[str, UsersByTotal]:
    """Return how many users have which totals of each column, if the release tells."""
    mechanism = release.mechanism
    if not isinstance(mechanism, ThresholdHistogram):
        return {}
    return mechanism.users_of_totals(release.noisy)


def clamping_in_numbers(name: str, found: UsersByTotal, below: int | None = None) -> Sentence:
    """Say how much clamping took from the sums of a column.

    >>> import numpy as np
    >>> from dphist.data.clamp import Clamp
    >>> sums = {"spent": Clamp(0, 100, 1)}
    >>> mechanism = ThresholdHistogram(
    ...     epsilon=1, delta="1e-6", max_labels=2, sums=sums, users_by_totals=True
    ... )
    >>> users = np.array([0, 0, 0, 0, 0, 0, 900, 50, 30, 10, 10, 0, 0])
    >>> found = mechanism.users_of_totals({"users_by_totals": users})
    >>> clamping_in_numbers("spent", found["spent"])  # doctest: +NORMALIZE_WHITESPACE
    'About 10 % of users have a total of spent below 0 or above 100, of one of their labels that
    count, shown or not (95 % interval 8.5 to 11.5 %). Clamping changed what users with totals from
    -900 to 1000 add to the sum of one label by at most 13,300 together, and at most 7 users have a
    total farther outside (both with 95 %). How much it changed for these is not known.'
    """
    share = found.share_clamped()
    about, interval = format_share(share)
    lead, surely = "About {share}", "(95 % interval {interval})"
    if share.high - share.low > WIDEST:
        lead, surely = "{interval}", "(95 %; too uncertain for one number)"
    many = found.users_beyond()[1]
    beyond = f"at most {many:,}"
    if below is not None and is_below(many, below):
        beyond = f"fewer than {below:,}"
    text = (
        f"{lead} of {{users}} have a total of {{name}} below {{low}} or above {{high}}, "
        f"{_OF_LABELS} {surely}. "
        "Clamping changed what {users} with totals from {first} to "
        "{last} add to the sum of one {label} by at most {most} together, and {beyond} {users} "
        "have a total farther outside (both with 95 %). How much it changed for these is not known."
    )
    first, last = found.nearest_to_ends()
    return Sentence(
        text,
        share=about,
        interval=interval,
        name=Quoted(harmless(name, _LONGEST)),
        low=decimal_text(found.clamp.low),
        high=decimal_text(found.clamp.high),
        most=plain(up(found.change_at_most(), 3)),
        beyond=beyond,
        first=decimal_text(first),
        last=decimal_text(last),
    )


def blocks_of_totals(name: str, found: UsersByTotal, below: int | None) -> list[Block]:
    """Return what is said of the totals of a column, and a page's table of users by total."""
    quoted = Quoted(harmless(name, _LONGEST))
    counted = Sentence("{Users}, each ± {width:,} with 95 %", width=found.half_width())
    numbers = Column(counted, [f"{each:,}" for each in found.noisy], digits=True)
    if below is not None:
        small = np.array(found.noisy, np.int64) < below
        numbers = numbers.leave_out(small, write_below(below))
    farthest = Sentence("Total of {name}, the farthest outside of each {user}", name=quoted)
    columns = [Column(farthest, found.cells_in_words(), digits=True), numbers]
    caption = Sentence("{Users} by their totals of {name}", name=quoted)
    return [
        Fact("Totals outside", clamping_in_numbers(name, found, below)),
        Table(columns, (caption, "", ""), on=ON_PAGE, whole=True),
    ]


def describe_totals(found: UsersByTotal) -> dict[str, Any]:
    """Return what programs are told of the totals of a column."""
    share = found.share_clamped()
    beyond, at_most = found.users_beyond()
    ends = [None if first is None else decimal_text(first) for first, _ in found.cells()]
    return {
        "share_of_users_clamped": [share.value, share.low, share.high],
        "sum_changed_at_most": float_up(found.change_at_most()),
        "users_beyond": beyond,
        "users_beyond_at_most": at_most,
        "users_by_totals": {"from": ends, "users": list(found.noisy)},
    }


def numbers_of_totals(release: Release) -> list[Fact]:
    """Return the shares of users with a clamped total, for the first numbers of a page."""
    facts = []
    for name, found in read_totals(release).items():
        share = found.share_clamped()
        about, interval = format_share(share)
        note = Sentence(
            "95 % interval {interval}; of {name}, " + _OF_LABELS,
            interval=interval,
            name=Quoted(harmless(name, _LONGEST)),
        )
        known = about if share.high - share.low <= WIDEST else "not known"
        facts.append(Fact(Sentence("{Users} with a clamped total"), known, note=note, on=ON_PAGE))
    return facts


def columns_of_totals(release: Release) -> dict[str, float]:
    """Return the shares of users with a clamped total, by the columns of a released table."""
    found: dict[str, float] = {}
    for name, users in read_totals(release).items():
        share = users.share_clamped()
        ends = (share.value, share.low, share.high)
        rounded = (float(f"{each:.4g}") for each in ends)
        found.update(zip(name_columns(f"{name}_users_clamped"), rounded, strict=True))
    return found
