"""Acceptance criteria: what a release must reach, written down before data are read."""

import re
from dataclasses import dataclass
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.parameters import read_number
from dphist.planning.declared import find_quantities, list_examples, list_planned_kinds

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
    quantity : one of the kind, or "data": a statement in free words that only the data show.
    relation : "below", "at most", "above" or "at least"; empty for "data".
    bound : the number; a percentage is a share, 0.5 % is 1/200.
    percent : whether `bound` was written as a percentage.
    """

    text: str
    quantity: str
    relation: str = ""
    bound: Fraction = Fraction(0)
    percent: bool = False

    def is_met_by(self, value: float | Fraction) -> bool:
        """Whether a value satisfies the criterion.

        >>> criterion("range error < 0.5 %", "ranges").is_met_by(0.005)
        False
        >>> criterion("labels >= 50", "labels").is_met_by(50)
        True
        """
        found = Fraction(value)
        return {
            "below": found < self.bound,
            "at most": found <= self.bound,
            "above": found > self.bound,
            "at least": found >= self.bound,
        }[self.relation]


def criterion(text: str, kind: str) -> Criterion:
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
    number = None if found is None else read_number(found["number"].replace(",", ""))
    known = find_quantities(kind)
    if quantity not in known and any(
        quantity in find_quantities(each) for each in list_planned_kinds()
    ):
        raise ParameterError("criteria", f"{said!r}: releases of {kind} have no {quantity}")
    if found is None or number is None or quantity not in known:
        raise ParameterError(
            "criteria",
            f"{said!r} cannot be read",
            f"write a quantity ({', '.join(known)}), <, <=, > or >=, and a number, such as "
            f"'{list_examples(kind)[0]}', or 'data:' and words for what only the data show",
        )
    percent = bool(found.groupdict().get("percent"))
    if percent and known[quantity].percent == "never":
        raise ParameterError(
            "criteria", f"{said!r}: {quantity} is no share", "leave out the percent sign"
        )
    if not percent and known[quantity].percent == "must":
        raise ParameterError(
            "criteria", f"{said!r}: {quantity} is a share", "write it with a percent sign"
        )
    bound = number / 100 if percent else number
    return Criterion(said, quantity, _RELATIONS[found["relation"]], bound, percent)
