"""Whom a guarantee protects, how many they are, and what released counts count, in words.

Records are counted after each user was bounded. The noise intervals are for these counts.
Noise does not say how far they are from the data before bounding, so every headline, table, legend
and program output says what was counted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up, with_article
from dphist.privacy.unit import ONE_EDGE, ONE_RECORD, ONE_ROW
from dphist.release.release import Release
from dphist.sentence import EVENTS, Noun, Sentence, join_sentences, many


def find_plural(unit: PrivacyUnit) -> str:
    """Name several of a unit; "units" where its name is no single word.

    >>> find_plural(PrivacyUnit("patient")), find_plural(PrivacyUnit("one stay in a hospital"))
    ('patients', 'units')
    """
    return unit.plural if unit.is_one_word else "units"


@dataclass(frozen=True, slots=True)
class Contribution:
    """What is protected where records are: those that one neighbor has and the other has not.

    Attributes
    ----------
    records : how many there are, at most.
    unit : whose records were bounded, or an edge of a graph. Without it the bound is a promise of
        the caller.

    >>> print(Contribution(1), "|", Contribution(20))
    one record | one contribution of up to 20 records
    >>> print(Contribution(20, PrivacyUnit("user")))
    one user, who counts with up to 20 records
    >>> print(Contribution(20, ONE_ROW))
    one row, which counts with up to 20 records
    >>> print(Contribution(1, ONE_EDGE), "|", Contribution(2, ONE_EDGE))
    one edge | one edge, which is counted up to 2 times
    """

    records: int
    unit: PrivacyUnit | None = None

    def __str__(self) -> str:
        return str(self.in_words())

    def in_words(self, one: str = "one") -> Sentence:
        """Name it; `one` begins the text, "One" at the start of a sentence."""
        most, unit = self.records, self.unit
        if unit is None and most == 1:
            return Sentence(f"{one} {{record}}")
        if unit is None:
            return Sentence(f"{one} contribution of up to {{most:,}} {{records}}", most=most)
        if unit == ONE_EDGE:
            return Sentence(f"{one} edge{{clause}}", clause=_format_counted_times(most))
        counts = "which counts" if unit == ONE_ROW else "who counts"
        return Sentence(
            f"{{unit}}, {counts} with up to {{most:,}} {{record{'s'[: most > 1]}}}",
            unit=unit_in_words(unit.single, one),
            most=most,
        )

    @property
    def has_clause(self) -> bool:
        """Whether a clause follows the noun."""
        return self.unit is not None and (self.unit != ONE_EDGE or self.records > 1)


def _format_counted_times(most: int) -> str:
    return "" if most == 1 else f", which is counted up to {most:,} times"


Protected: TypeAlias = PrivacyUnit | Contribution
"""What is protected."""

_SLOTS = {"record": "record", "row": "record", "event": "record", "edge": ""}


def nouns_of_unit(unit: PrivacyUnit) -> tuple[str, str, str]:
    """Return what one and several of a unit are called, and one with its article.

    The owner's word for a record takes the place of "row", too.
    """
    slot = _SLOTS.get(unit.who, "user")
    words = unit.who, find_plural(replace(unit, or_rows=False)), with_article(unit.who)
    if not slot:
        return words
    one, several, article = words
    return Noun(one, slot), Noun(several, f"{slot}s"), Noun(article, f"a_{slot}")


_MISSING = {
    "refuse": "are refused",
    "drop": "are dropped",
    "separate": "each count as a separate {one}",
}


def missing_in_words(bounds: Mapping[str, Any], unit: PrivacyUnit) -> list[Sentence]:
    """Say what becomes of rows without a user or a label, as far as data state it."""
    who, _, a_user = nouns_of_unit(unit)
    return [
        Sentence(f"Rows without {{missing}} {_MISSING[bounds[name]]}.", missing=missing, one=who)
        for name, missing in (("null_users", a_user), ("null_labels", Sentence("{a_label}")))
        if bounds.get(name) in _MISSING
    ]


def with_missing(said: Sentence, unit: PrivacyUnit | None, bounds: Mapping[str, Any]) -> Sentence:
    """Add what becomes of rows without a user or a label, if data name a unit."""
    return said if unit is None else join_sentences([said, *missing_in_words(bounds, unit)])


def name_several(unit: PrivacyUnit) -> str:
    """Name several of what is protected, as in a number of them."""
    if unit.at_most > 1:
        return "units"
    return find_plural(unit) if unit.or_rows else nouns_of_unit(unit)[1]


def unit_in_words(unit: PrivacyUnit, one: str = "one") -> Sentence:
    """Name a unit as `str(unit)` does, with slots; `one` begins the text, or "all" of its events.

    >>> print(unit_in_words(PrivacyUnit("account", or_rows=True, asserted=True), "One"))
    One account, or one row without an account, as promised by the caller
    >>> print(unit_in_words(PrivacyUnit("user", events=2), "One"))
    All events of one user, of which at most 2 count
    >>> print(unit_in_words(PrivacyUnit("record", exchanged=True)))
    one record, exchanged for another
    """
    if unit.at_most > 1:
        text = str(unit)
        return Sentence("{text}", text=text if one.islower() else f"{text[0].upper()}{text[1:]}")
    name, _, article = nouns_of_unit(unit)
    rows = ", or one row without {article}" if unit.or_rows else ""
    rows += ", exchanged for another" if unit.exchanged else ""
    asserted = ", as promised by the caller" if unit.asserted else ""
    named = f"{one} {{name}}{rows}"
    if unit.events is not None:
        every = "all" if one.islower() else "All"
        named = f"{every} {{events}} of one {{name}}{rows}, of which at most {{most:,}} count"
    given = {"name": name, "article": article, "most": unit.events}
    return Sentence(f"{named}{asserted}", **given, **EVENTS)


def protected_in_words(protected: Protected, one: str = "one") -> Sentence:
    """Name what is protected; `one` begins the text."""
    if isinstance(protected, PrivacyUnit):
        return unit_in_words(protected, one)
    return protected.in_words(one)


def neighbors_in_words(sensitivity: int, unit: PrivacyUnit | None = None) -> Sentence:
    """State which data are neighbors."""
    return Sentence(
        f"D and D′ are neighbors if {_template_of_neighbors(sensitivity, unit)}",
        most=sensitivity,
        unit=unit_in_words(ONE_RECORD if unit is None else replace(unit, asserted=False)),
    )


def _template_of_neighbors(sensitivity: int, unit: PrivacyUnit | None) -> str:
    if unit is None and sensitivity > 1:
        return (
            "adding and removing at most {most:,} {records} in all turns one into the other. "
            "Whoever made the data asserts that no unit has more; the mechanism cannot check it."
        )
    if unit is None:
        return (
            "adding or removing one {record} turns one into the other. Changing the {label} of "
            "{a_record} removes one and adds one, which costs twice the epsilon."
        )
    removed = "adding or removing {unit}, with all {records}, turns one into the other."
    if unit.asserted:
        return (
            f"{removed} Whoever made the data asserts that each has at most {{most:,}}; the "
            "mechanism cannot check it."
        )
    if unit == ONE_EDGE:
        return (
            "adding or removing one edge, a row of the table, turns one into the other. An edge "
            "adds at most {most:,} to all counts together."
        )
    if unit == ONE_ROW:
        return (
            "adding or removing {unit} turns one into the other. Each counts as at most {most:,} "
            "{records}."
        )
    return f"{removed} At most {{most:,}} {{records}} of each were kept, chosen at random."


@dataclass(frozen=True, slots=True)
class Number:
    """How many protected units there are, as far as it is public.

    Attributes
    ----------
    units : a guess, or what released numbers show; None if nothing shows it.
    noun : what they are, in the plural, such as "users".
    at_least : whether there may be more: released counts may show a part only.
    """

    units: int | None = None
    noun: str = "users"
    at_least: bool = False


UNKNOWN = Number()


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts are of.

    Attributes
    ----------
    whole : completes "counts of": "records, after each user was bounded to at most 10 labels".
    cut : the bound in short: "each user bounded to 10 labels"; empty if none was bounded.
    who : for a legend: "bounded"; empty if none was bounded.
    """

    whole: str
    cut: str = ""
    who: str = ""

    @property
    def sentence(self) -> Sentence:
        """What counts and intervals are of, as a sentence."""
        cut = " Intervals cover the noise, not what is above the bounds." if self.cut else ""
        return Sentence(f"Counts and intervals are of {{whole}}.{cut}", whole=self.whole)

    @property
    def noise(self) -> str:
        """What an error is of, to follow it; empty if none was bounded."""
        return "; from the noise, not from bounding" if self.cut else ""

    def head(self, noun: str = "Count") -> Sentence:
        """Return the heading of a column of counts."""
        return Sentence(f"{noun}{' ({who})' if self.who else ''}", who=self.who)

    @property
    def released(self) -> Sentence:
        """The legend's name of what was released."""
        return Sentence(f"Released{', {who}' if self.who else ''}", who=self.who)

    @property
    def after(self) -> Sentence:
        """How users were bounded, to follow the word "records"; empty if none was."""
        return Sentence(", {cut}" if self.cut else "", cut=self.cut)


def describe_counted_after_cut(
    unit: PrivacyUnit, long: str, short: str, noun: str = "{records}"
) -> Counted:
    """Return what is counted after each unit was bounded.

    >>> describe_counted_after_cut(PrivacyUnit("user"), "at most 2 labels", "2 labels").whole
    'records, after each user was bounded to at most 2 labels'
    """
    who, _, _ = nouns_of_unit(unit)
    return Counted(
        Sentence(
            f"{noun}, after each {{who}} was bounded to {{long}}", who=who, long=long, **EVENTS
        ),
        Sentence("each {who} bounded to {short}", who=who, short=short),
        "bounded",
    )


def threshold_text(threshold: Fraction | float | None) -> str:
    """Write a threshold: a whole number, or three decimals, rounded up.

    >>> threshold_text(Fraction(12345678, 10000)), threshold_text(Fraction(70))
    ('1,234.568', '70')
    """
    return f"{math.ceil(1000 * Fraction(threshold or 0)) / 1000:,.3f}".rstrip("0").rstrip(".")


def share_of_guess(count: int, guess: int, several: str, provided: str = "") -> Sentence:
    """Say what share of a guessed number of units a count is.

    Parameters
    ----------
    several : what the units are called, in the plural.
    provided : what holds then, to follow a comma.

    >>> share_of_guess(80, 10_000, "users"), share_of_guess(80, 10, "events", ", if each adds 1")
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


def find_counted(release: Release) -> Counted:
    """Return what the counts of a release of records count."""
    if release.counts_users:
        return Counted(Sentence("{records}, by how many records each has before any is dropped"))
    bound = release.provenance.get("max_records", release.mechanism.guarantee.unit.at_most)
    return describe_counted_records(release.provenance.get("unit"), int(bound))


def describe_counted_records(unit: PrivacyUnit | None, most: int) -> Counted:
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
    return describe_counted_after_cut(unit, Sentence("at most {held}", held=held), held)


def count_units(release: Release) -> Number:
    """Return how many units there are by the released total, or by all released counts."""
    if release.users is not None:
        return count_units(release.users)
    records = release.total
    if records is None:
        records = getattr(release.value, "total", 0)
    one_record = release.counts_users or release.guarantee.unit == ONE_RECORD
    return number_shown(
        release, max(records, 0), release.mechanism.guarantee.unit.at_most, exact=one_record
    )


def number_shown(release: Release, records: int, most: int = 1, *, exact: bool = False) -> Number:
    """Return how many units a number of released records shows.

    Parameters
    ----------
    records : a released number of records.
    most : records of one unit, at most; `records` are of `records / most` units or more.
    exact : whether there are no further units.
    """
    noun = name_several(release.guarantee.unit)
    return Number(-(-records // most) or None, noun, at_least=not exact)


def number_guessed(
    guesses: Sequence[int], guarantee: PrivacyUnit, unit: PrivacyUnit | None
) -> Number:
    """Return how many units the guessed number of records shows at least, if there is one guess.

    Parameters
    ----------
    guarantee : the unit of the mechanism's guarantee, a number of records.
    unit : whom the data protect, if they name someone.
    """
    units = [-(-guess // guarantee.at_most) for guess in guesses]
    noun = name_several(unit or guarantee) if guarantee.at_most > 1 else Sentence("{records}")
    return Number(units[0] if len(units) == 1 else None, noun, at_least=True)


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
