"""What a released count counts, in words: records, after each user was cut to the bounds.

The noise intervals are for these counts. Noise does not say how far they are from the data before
bounding, so every headline, table, legend and program output says what was counted.
"""

from dataclasses import dataclass

from dphist.privacy import PrivacyUnit
from dphist.report.words import plural_of


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
    def sentence(self) -> str:
        """What counts and intervals are of, as a sentence."""
        if not self.cut:
            return f"Counts and intervals are of {self.whole}."
        return (
            f"Counts and intervals are of {self.whole}. Intervals cover the noise, not what was "
            "cut."
        )

    @property
    def released(self) -> str:
        """The legend's name of what was released."""
        return f"Released, {self.who}" if self.who else "Released"

    @property
    def after(self) -> str:
        """What was cut, to follow the word "records"; empty if nothing was."""
        return f", {self.cut}" if self.cut else ""


def counted_after_cut(unit: PrivacyUnit, long: str, short: str, noun: str = "records") -> Counted:
    """Return what is counted after each unit was cut to a bound.

    >>> counted_after_cut(PrivacyUnit("user"), "at most 2 labels", "2 labels").whole
    'records, after each user was cut to at most 2 labels'
    """
    who = unit.who
    return Counted(
        f"{noun}, after each {who} was cut to {long}",
        f"each {who} cut to {short}",
        f"{plural_of(PrivacyUnit(who))} cut",
    )


def how_many(number: int, noun: str) -> str:
    """Write a number of things.

    >>> how_many(1, "event"), how_many(2000, "label")
    ('1 event', '2,000 labels')
    """
    return f"{number:,} {noun}{'s'[: number != 1]}"
