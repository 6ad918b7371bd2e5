"""What bounding took from counts, as facts and in words, for every kind that bounds users."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from dphist.document.blocks import ON_JSON, ON_PAGE, Block, Column, Fact, Table
from dphist.document.csv_rows import add_constants
from dphist.document.unit_words import nouns_of_unit
from dphist.privacy.unit import ONE_EDGE, ONE_ROW
from dphist.release.fitted_users import Share
from dphist.release.release import Release
from dphist.release.user_records import read_user_sizes
from dphist.release.users_by_size import WIDEST, UsersBySize
from dphist.sentence import Sentence, many

OTHER_BOUNDS = (5, 10, 20, 50, 100)
"""Bounds on the size of a user of which is said how much they would have taken."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the size of a user is a number of.

    Attributes
    ----------
    noun : "label" or "record": the slot.
    dropped : heading of what a bound drops.
    dropped_key : names it for programs.
    """

    noun: str
    dropped: Sentence
    dropped_key: str

    def in_words(self, number: int) -> Sentence:
        """Write a size."""
        return many(number, self.noun)

    def describe(self, text: str, **values: Any) -> Sentence:
        """Fill in a text, in which {sizes} and {Sizes} stand for labels, or for records."""
        sizes, first = (Sentence(f"{{{noun}s}}") for noun in (self.noun, self.noun.title()))
        return Sentence(text, sizes=sizes, Sizes=first, **values)


LABELS = Sizes("label", Sentence("Pairs of {user} and {label} dropped"), "pairs")
RECORDS = Sizes("record", Sentence("{Records} dropped"), "records")


def format_share(share: Share) -> tuple[str, str]:
    """Return a share, and its 95 % interval.

    >>> format_share(Share(0.2847, 0.241, 0.33))
    ('28.5 %', '24.1 to 33 %')
    """
    low, high = (f"{round(1000 * each) / 10:g}" for each in (share.low, share.high))
    return f"{round(1000 * share.value) / 10:g} %", f"{low} to {high} %"


_TOO_LOW = "Counts are about {share} too low on average (95 % interval {interval})"
_UNSURE = "Counts are too low by {interval} on average (95 %; too uncertain for one number)"


def cut_in_words(
    found: UsersBySize, sizes: Sizes, lacking: tuple[str, str] = (_TOO_LOW, _UNSURE)
) -> Sentence:
    """Say how much bounding took from counts, once for a manager.

    Parameters
    ----------
    lacking : how the sentence begins, with the share and its interval, or with a wide interval.

    >>> from dphist.noise.law import Drawing, NoiseLaw
    >>> law = NoiseLaw("two-sided geometric", 1, Drawing.WHOLE)
    >>> found = UsersBySize((1, 2, 3, 4, 5), (4000, 3000, 2000, 1000, 3), law, 2)
    >>> cut_in_words(found, RECORDS)  # doctest: +NORMALIZE_WHITESPACE
    'Counts are about 20 % too low on average (95 % interval 19.5 to 20.5 %), because each user
    counts for at most 2 records; about 30 % (29.5 to 30.5 %) of users have more. Records of one
    user beyond 5 are not in this, so it may be more.'
    """
    cut, more = found.share_cut(), found.share_of_users()
    share, interval = format_share(cut)
    of_users, ends = format_share(more)
    above = "{ends}" if more.high - more.low > WIDEST else "about {of_users} ({ends})"
    text = (
        f"{lacking[cut.high - cut.low > WIDEST]}, because each {{user}} counts for at most "
        f"{{held}}; {above} of {{users}} have more. {{Sizes}} of one {{user}} beyond {{last:,}} "
        "are not in this, so it may be more."
    )
    return sizes.describe(
        text,
        share=share,
        interval=interval,
        held=sizes.in_words(found.bound),
        of_users=of_users,
        ends=ends,
        last=found.cells[-1],
    )


def unknown_in_words(sizes: Sizes, several: str) -> Sentence:
    """Say that nothing is known of what bounding took; `several` names the users."""
    text = (
        "Nothing is known of how much bounding took from the counts: the release does not state "
        "how many {sizes} {several} have."
    )
    return sizes.describe(text, several=several)


def number_of_cut(found: UsersBySize, sizes: Sizes, name: str = "Counts too low by") -> Fact:
    """Return the share that bounding took, as one of the first numbers of a page."""
    cut = found.share_cut()
    share, interval = format_share(cut)
    if cut.high - cut.low > WIDEST:
        share = "not known"
    note = sizes.describe(
        "95 % interval {interval}; on average, of up to {last:,} {sizes} of one {user}",
        interval=interval,
        last=found.cells[-1],
    )
    return Fact(name, share, note=note, on=ON_PAGE)


def facts_of_sizes(found: UsersBySize, sizes: Sizes) -> list[Block]:
    """Return what programs are told of bounding, and a page's table of other bounds."""
    shares = found.shares_cut(bound for bound in OTHER_BOUNDS if bound < found.cells[-1])
    above, at_most = found.users_above()
    of_users, noun = found.share_of_users(), f"{sizes.noun}s"
    kept = [*found.total_kept()]
    as_json = {
        f"max_{noun}": found.bound,
        f"{noun}_counted_to": found.cells[-1],
        "users_above": above,
        "users_above_at_most": at_most,
        "share_of_users_above": [of_users.value, of_users.low, of_users.high],
        f"share_of_{sizes.dropped_key}_dropped": {
            str(bound): [share.value, share.low, share.high] for bound, share in shares.items()
        },
        f"{sizes.dropped_key}_kept": kept,
        f"users_by_{noun}": {"from": list(found.cells), "users": list(found.noisy)},
    }
    told = [format_share(share) for share in shares.values()]
    columns = [
        Column(sizes.describe("{Sizes} of one {user}, at most"), [f"{each:,}" for each in shares]),
        Column(sizes.dropped, [share for share, _ in told]),
        Column("95 % interval", [interval for _, interval in told]),
    ]
    columns = [replace(column, digits=True) for column in columns]
    said = "What other bounds would have dropped, of up to {last:,} {sizes} of one {user}"
    caption = sizes.describe(said, last=found.cells[-1])
    return [
        Fact("", "", "bounding", as_json, on=ON_JSON),
        Table(columns, (caption, "", ""), on=ON_PAGE, whole=True),
    ]


def bounding_of_records(release: Release) -> tuple[str, list[Block]]:
    """Return how much bounding took from counts of records, and facts of it.

    The sentence says that nothing is known where the release does not carry `Release.users`, and
    is empty if no users were bounded.
    """
    unit = release.provenance.get("unit")
    if release.users is not None:
        found = read_user_sizes(release)
        return cut_in_words(found, RECORDS), facts_of_sizes(found, RECORDS)
    if unit is None or unit.asserted or unit in (ONE_ROW, ONE_EDGE) or release.counts_users:
        return "", []
    return unknown_in_words(RECORDS, nouns_of_unit(unit)[1]), []


def numbers_of_bounding(release: Release) -> list[Fact]:
    """Return the share of records that bounding took, where the release states it."""
    return [] if release.users is None else [number_of_cut(read_user_sizes(release), RECORDS)]


def add_share_cut(table: pa.Table, release: Release) -> pa.Table:
    """Return a table with the share that bounding took, where the release states it.

    It is the same in each row, in columns share_cut, share_cut_low and share_cut_high.
    """
    if release.users is None:
        return table
    share = read_user_sizes(release).share_cut()
    ends = {"": share.value, "_low": share.low, "_high": share.high}
    return add_constants(table, {f"share_cut{end}": float(f"{x:.4g}") for end, x in ends.items()})
