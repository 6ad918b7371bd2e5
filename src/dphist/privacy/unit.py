"""PrivacyUnit: what a guarantee protects, as a value that can be compared."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dphist.errors import ParameterError
from dphist.parameters import whole_number

_LONGEST = 200
PROMISED = ", as promised by the caller"
"""End of a unit's name where the caller asserts the bounds: dphist has not counted the data."""
_OR_ROW = re.compile(r"(.+), or one row without (.+)")
_EVENTS_OF = re.compile(r"all events of (one .+), of which at most [\d,]+ counts?")

Bounds = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivacyUnit:
    """What is protected: up to `at_most` of `who`, with all of their data.

    Neighboring data sets differ by adding or removing at most `at_most` of `who`. Guarantees
    compose if their units are equal.

    Parameters
    ----------
    who : str
        "record", "event", "edge", "user", or a word of your own, such as "patient". A leading
        "one" is dropped: "one patient" is "patient".
    at_most : int
        The number protected together: ``PrivacyUnit("record", 5)`` for ``sensitivity=5``.
    bounds : mapping of str to int or None, optional
        Bounds on the data counted for each unit, by parameter name (`max_labels`, `max_count`,
        `max_records`, `max_events`; None for no bound). They are informative and not compared: the
        whole unit is protected, however little of it is counted.

    >>> PrivacyUnit("one user") == PrivacyUnit("user", bounds={"max_labels": 10})
    True
    >>> print(PrivacyUnit("record", 5), "|", PrivacyUnit("user"))
    at most 5 records | one user
    """

    who: str
    at_most: int
    bounds: Bounds = field(compare=False)

    def __init__(
        self,
        who: str = "record",
        at_most: int = 1,
        bounds: Mapping[str, int | None] | Bounds = (),
    ) -> None:
        object.__setattr__(self, "who", _who(who))
        object.__setattr__(self, "at_most", whole_number(at_most, "at_most", 1))
        object.__setattr__(self, "bounds", _bounds(bounds))

    def __str__(self) -> str:
        return f"one {self.who}" if self.at_most == 1 else f"at most {self.together}"

    def __repr__(self) -> str:
        parts = [repr(self.who)]
        if self.at_most > 1:
            parts.append(str(self.at_most))
        if self.bounds:
            parts.append(f"bounds={dict(self.bounds)}")
        return f"PrivacyUnit({', '.join(parts)})"

    @property
    def plural(self) -> str:
        """The plural of `who`.

        >>> PrivacyUnit("entry").plural, PrivacyUnit("user, or one row without a user").plural
        ('entries', 'users, or rows without a user')
        """
        either = _OR_ROW.fullmatch(self.who)
        if either:
            return f"{PrivacyUnit(either[1]).plural}, or rows without {either[2]}"
        if not self.who.replace("-", "").isalpha():
            return f"times 'one {self.who}'"
        if self.who.endswith(("s", "x", "ch", "sh")):
            return f"{self.who}es"
        ending = re.fullmatch(r"(.*[^aeiou])y", self.who)
        return f"{ending[1]}ies" if ending else f"{self.who}s"

    @property
    def together(self) -> str:
        """The number of `who` in words, such as "5 records"."""
        return f"{self.at_most:,} {self.who if self.at_most == 1 else self.plural}"

    @property
    def compared(self) -> tuple[str, int]:
        """The values that two equal units share."""
        return self.who, self.at_most

    def times(self, members: int) -> "PrivacyUnit":
        """Return the unit of `members` such units together."""
        times = whole_number(members, "members", 1)
        return PrivacyUnit(self.who, times * self.at_most, self.bounds)

    def named(self, text: str) -> "PrivacyUnit":
        """Return this unit of a mechanism under the name that the data give it.

        Parameters
        ----------
        text : the unit of the data, such as "one user".

        >>> PrivacyUnit("record", 5).named("one user")
        PrivacyUnit('user', bounds={'max_records': 5})
        >>> PrivacyUnit("user", bounds={"max_count": 1}).named("one row")  # a row is a record then
        PrivacyUnit('record')
        """
        said = text.removesuffix(PROMISED)
        of_events = _EVENTS_OF.fullmatch(said)
        who = _who(of_events[1] if of_events else said)
        bounds = dict(self.bounds)
        alone = self.who == "record" and self.at_most == 1
        if who == "row" and (alone or bounds.get("max_count") == 1):
            return PrivacyUnit("record")  # a row that counts one is a record
        if self.who in ("record", "event") and self.who != who:
            bounds = {f"max_{self.plural}": self.at_most}
        return PrivacyUnit(who, 1 if self.who != who else self.at_most, bounds)


def as_unit(unit: "PrivacyUnit | str") -> PrivacyUnit:
    """Return a PrivacyUnit from itself or from its name."""
    if isinstance(unit, PrivacyUnit):
        return unit
    if not isinstance(unit, str):
        raise ParameterError("unit must be a PrivacyUnit, or text such as 'one user'")
    return PrivacyUnit(unit)


def _who(who: object) -> str:
    words = who.strip().removeprefix("one ").strip() if isinstance(who, str) else ""
    if words in ("", "one") or not words.isprintable() or len(words) > _LONGEST:
        raise ParameterError(
            f"who must be one line of at most {_LONGEST} characters, such as 'user'"
        )
    return words


def _bounds(bounds: "Mapping[str, int | None] | Bounds") -> Bounds:
    held = dict(bounds)
    for name, bound in held.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError("the names of bounds must be identifiers, such as max_labels")
        if bound is not None:
            whole_number(bound, name, 1)
    return tuple(sorted(held.items()))


ONE_RECORD = PrivacyUnit()
"""The default unit of a guarantee."""
OF_ROWS = ("one record", "one row", "one edge", "one event")
"""Units of which one person may have many: protecting one says little of the person."""
