"""Acceptance criteria: what a release must reach, written down before data are read."""

import re
from dataclasses import dataclass
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.parameters import decimal_text, number_of_text

KINDS = ("labels", "ranges", "anonymized", "stream")
_LABELS = ("labels", "stream")

QUANTITIES: dict[str, tuple[str, ...]] = {
    "epsilon": KINDS,
    "delta": KINDS,
    "labels": (*_LABELS, "anonymized"),
    "appears from": _LABELS,
    "count error": _LABELS,
    "range error": ("ranges",),
    "profile error": ("anonymized",),
    "cut users": ("labels",),
    "missing labels": _LABELS,
    "bounding error": KINDS,
}
"""What a criterion may be about, and of which kinds of release."""

SHARES = ("count error", "range error", "profile error", "bounding error")
"""Quantities in records, which may also be stated as a percentage of what is released."""

_RELATIONS = {
    "<": "below",
    "<=": "at most",
    "≤": "at most",
    ">": "above",
    ">=": "at least",
    "≥": "at least",
    "below": "below",
    "above": "above",
    "at most": "at most",
    "at least": "at least",
}
# Commas only between thousands: in "1,5 %" one could be that of a decimal.
_WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
_NUMBER = rf"(?P<number>{_WHOLE}(?:\.[0-9]+)?(?:e-?[0-9]+)?)"
_RELATION = "(?P<relation>" + "|".join(sorted(map(re.escape, _RELATIONS), key=len)[::-1]) + ")"
_ABOUT = rf"(?P<quantity>[a-z ]+?)\s*{_RELATION}\s*{_NUMBER}\s*(?P<percent>%)?(?:\s*records)?"
_HOW_MANY = rf"{_RELATION}\s*{_NUMBER}\s+labels"
_DATA = "data:"
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Criterion:
    """One acceptance criterion.

    Attributes
    ----------
    text : as it was written.
    quantity : one of `QUANTITIES`, or "data": a statement in free words that only the data show.
    relation : "below", "at most", "above" or "at least"; empty for "data".
    bound : the number; a percentage is a share, 0.5 % is 1/200.
    percent : whether `bound` was written as a percentage.
    """

    text: str
    quantity: str
    relation: str = ""
    bound: Fraction = Fraction(0)
    percent: bool = False

    def met_by(self, value: float | Fraction) -> bool:
        """Whether a value satisfies the criterion.

        >>> criterion("range error < 0.5 %").met_by(0.005), criterion("labels >= 50").met_by(50)
        (False, True)
        """
        found = Fraction(value)
        return {
            "below": found < self.bound,
            "at most": found <= self.bound,
            "above": found > self.bound,
            "at least": found >= self.bound,
        }[self.relation]

    @property
    def bound_text(self) -> str:
        """The bound as it is shown."""
        if not self.percent:
            return decimal_text(self.bound, 18)
        return f"{decimal_text(100 * self.bound, 18)} %"


def criterion(text: str, kind: str | None = None) -> Criterion:
    """Read a criterion, such as "range error < 0.5 %" or "at least 50 labels".

    Parameters
    ----------
    kind : of the plan; a quantity that its releases do not have is refused.

    Raises
    ------
    ParameterError
        If it cannot be read; the message lists what can be written.
    """
    if not isinstance(text, str) or "\n" in text or len(text) > _LONGEST:
        raise ParameterError("criteria", f"must be one line each, of at most {_LONGEST} characters")
    said = " ".join(text.split())
    if said.lower().startswith(_DATA):
        return Criterion(said, "data")
    lowered = said.lower()
    found = re.fullmatch(_HOW_MANY, lowered) or re.fullmatch(_ABOUT, lowered)
    quantity = "" if found is None else found.groupdict().get("quantity", "labels").strip()
    number = None if found is None else number_of_text(found["number"].replace(",", ""))
    if found is None or number is None or quantity not in QUANTITIES:
        raise _cannot_be_read(said, kind)
    percent = bool(found.groupdict().get("percent"))
    if percent and quantity not in (*SHARES, "cut users"):
        raise ParameterError(
            "criteria", f"{said!r}: {quantity} is no share", "leave out the percent sign"
        )
    if not percent and quantity == "cut users":
        raise ParameterError(
            "criteria", f"{said!r}: cut users is a share", "write it with a percent sign"
        )
    if kind is not None and kind not in QUANTITIES[quantity]:
        raise ParameterError("criteria", f"{said!r}: releases of {kind} have no {quantity}")
    bound = number / 100 if percent else number
    return Criterion(said, quantity, _RELATIONS[found["relation"]], bound, percent)


def _cannot_be_read(said: str, kind: str | None) -> ParameterError:
    known = [name for name, kinds in QUANTITIES.items() if kind is None or kind in kinds]
    return ParameterError(
        "criteria",
        f"{said!r} cannot be read",
        f"write a quantity ({', '.join(known)}), <, <=, > or >=, and a number, such as 'count "
        "error < 10 %', or 'data:' and words for what only the data show",
    )
