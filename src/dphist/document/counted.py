"""What a released count counts, in words: records, after each user was cut to the bounds.

The noise intervals are for these counts. Noise does not say how far they are from the data before
bounding, so every headline, table, legend and program output says what was counted.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dphist.document.delta_words import Number
from dphist.document.guarantee_words import Contribution, nouns_of_unit
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.privacy.unit import ONE_EDGE, ONE_RECORD
from dphist.release.release import Release
from dphist.sentence import EVENTS, Sentence, many


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts are of.

    Attributes
    ----------
    whole : completes "counts of": "records, after each user was cut to at most 10 labels".
    cut : the bound in short: "each user cut to 10 labels"; empty if nothing was cut.
    who : for a legend: "users cut"; empty if nothing was cut.
    """

    whole: str
    cut: str = ""
    who: str = ""

    @property
    def sentence(self) -> Sentence:
        """What counts and intervals are of, as a sentence."""
        cut = " Intervals cover the noise, not what was cut." if self.cut else ""
        return Sentence(f"Counts and intervals are of {{whole}}.{cut}", whole=self.whole)

    @property
    def released(self) -> Sentence:
        """The legend's name of what was released."""
        return Sentence(f"Released{', {who}' if self.who else ''}", who=self.who)

    @property
    def after(self) -> Sentence:
        """What was cut, to follow the word "records"; empty if nothing was."""
        return Sentence(", {cut}" if self.cut else "", cut=self.cut)


def counted_after_cut(unit: PrivacyUnit, long: str, short: str, noun: str = "{records}") -> Counted:
    """Return what is counted after each unit was cut to a bound.

    >>> counted_after_cut(PrivacyUnit("user"), "at most 2 labels", "2 labels").whole
    'records, after each user was cut to at most 2 labels'
    """
    who, several, _ = nouns_of_unit(unit)
    return Counted(
        Sentence(f"{noun}, after each {{who}} was cut to {{long}}", who=who, long=long, **EVENTS),
        Sentence("each {who} cut to {short}", who=who, short=short),
        Sentence("{several} cut", several=several),
    )


def threshold_text(threshold: Fraction | float | None) -> str:
    """Write a threshold: a whole number, or three decimals, rounded up.

    >>> threshold_text(Fraction(12345678, 10000)), threshold_text(Fraction(70))
    ('1,234.568', '70')
    """
    return f"{math.ceil(1000 * Fraction(threshold or 0)) / 1000:,.3f}".rstrip("0").rstrip(".")


def share_in_words(count: int, guess: int, several: str, provided: str = "") -> Sentence:
    """Say what share of a guessed number of units a count is.

    Parameters
    ----------
    several : what the units are called, in the plural.
    provided : what holds then, to follow a comma.

    >>> share_in_words(80, 10_000, "users"), share_in_words(80, 10, "events", ", if each adds 1")
    ('80 of 10,000 users are 0.8 % of them.', '10 events are too few for that, if each adds 1.')
    """
    if count > guess:
        said = f"{{guess:,}} {{several}} are too few for that{provided}."
        return Sentence(said, guess=guess, several=several)
    return Sentence(
        f"{{count:,}} of {{guess:,}} {{several}} are {{share}} % of them{provided}.",
        count=count,
        guess=guess,
        several=several,
        share=plain(up(Fraction(100 * count, guess), 2)),
    )


def how_many(number: int, noun: str) -> str:
    """Write a number of things.

    >>> how_many(1, "event"), how_many(2000, "label")
    ('1 event', '2,000 labels')
    """
    return f"{number:,} {noun}{'s'[: number != 1]}"


def unit_of(release: Release) -> Contribution:
    """Return what is protected where it is a number of records."""
    return Contribution(sensitivity_of(release), release.provenance.get("unit"))


def sensitivity_of(release: Release) -> int:
    """Return how many records one unit changes at most."""
    return release.mechanism.guarantee.unit.at_most


def counted_of(release: Release) -> Counted:
    """Return what the counts of a release of records count."""
    bound = release.provenance.get("max_records", sensitivity_of(release))
    return counted_records(release.provenance.get("unit"), int(bound))


def counted_records(unit: PrivacyUnit | None, most: int) -> Counted:
    """Return what counts of records count.

    Parameters
    ----------
    unit : whose records were bounded, as the data name it.
    most : records of one unit that are kept, if they were.
    """
    if unit is None:
        return Counted(Sentence("{records}"))
    if unit.asserted:
        return Counted(Sentence("{records} as the caller counted them"))
    if unit == ONE_EDGE:
        return Counted("edges")
    held = many(most, "record")
    return counted_after_cut(unit, Sentence("at most {held}", held=held), held)


def number_of(release: Release) -> Number:
    """Return how many units there are by the released total, or by all released counts."""
    records = release.total
    if records is None:
        records = getattr(release.value, "total", 0)
    one_record = release.guarantee.unit == ONE_RECORD
    return number_shown(release, max(records, 0), sensitivity_of(release), exact=one_record)


def number_shown(release: Release, records: int, most: int = 1, *, exact: bool = False) -> Number:
    """Return how many units a number of released records shows.

    Parameters
    ----------
    records : a released number of records.
    most : records of one unit, at most; `records` are of `records / most` units or more.
    exact : whether there are no further units.
    """
    unit = release.guarantee.unit
    noun: str = "units"
    if unit.at_most == 1:
        noun = unit.plural if unit.or_rows else nouns_of_unit(unit)[1]
    return Number(-(-records // most) or None, noun, at_least=not exact)


def most_shown(counts: list[int], labels: int | None, most: int) -> tuple[int, int]:
    """Return the records, and the records of one unit, that show the most units.

    Parameters
    ----------
    counts : released counts of labels.
    labels : how many labels one unit counts for, at most; None for any number.
    most : records of one unit in one label, at most.
    """
    one = max([*counts, 0]), most
    if labels is None:
        return one
    every = sum(count for count in counts if count > 0), most * labels
    return max(one, every, key=lambda found: -(-found[0] // found[1]))
