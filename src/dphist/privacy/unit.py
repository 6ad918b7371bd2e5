"""PrivacyUnit: what a guarantee protects, as a value to compare, and its text in files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dphist.errors import Argument, ParameterError
from dphist.parameters import optional_whole, whole_number
from dphist.privacy.as_text import find_forms, with_article

_LONGEST = 200  # of `who`
_LONGEST_TEXT = 800  # of all that a text states
_EVENTS_OF = "all events of "

Bounds = tuple[tuple[str, int | None], ...]


def without_one(text: str) -> str:
    """Return a text without the "one" that it begins with.

    >>> without_one(" one  patient ")
    'patient'
    """
    words = text.strip()
    while words.startswith("one "):
        words = words.removeprefix("one ").strip()
    return words


def read_unit_text(text: Any) -> tuple[Any, dict[str, Any]]:
    """Return `who` of the text of a unit, and the facts that the text states beside it.

    No other function reads them. Each fact is the end of the text from some comma on. The words
    are those of files, and stay if `PrivacyUnit` is one day written in others.

    Parameters
    ----------
    text : anything else, and text that is too long, is returned as it is.

    >>> read_unit_text("one account, or one row without an account, as promised by the caller")
    ('account', {'or_rows': True, 'asserted': True})
    >>> read_unit_text("all events of one user, of which at most 5 count")
    ('user', {'events': 5})
    """
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return text, {}
    words = without_one(text)
    for comma in (place for place, letter in enumerate(words) if letter == ","):
        start, end = words[:comma], words[comma:]
        events = int("".join(filter(str.isdecimal, end)) or 0)
        fact: dict[str, Any] = {}
        if end == ", as promised by the caller":
            fact = {"asserted": True}
        elif end == ", exchanged for another":
            fact = {"exchanged": True}
        elif end == f", or one row without {with_article(start)}":
            fact = {"or_rows": True}
        elif end == f", of which at most {events} count" and start.startswith(f"{_EVENTS_OF}one "):
            start, fact = start.removeprefix(_EVENTS_OF), {"events": events}
        if fact:
            who, facts = read_unit_text(start)
            return who, {**facts, **fact}
    return words, {}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivacyUnit:
    """What is protected: up to `at_most` of `who`, with all of their data.

    Neighboring data sets differ by adding or removing at most `at_most` of `who`, or, if they are
    `exchanged`, by exchanging at most that many, each for another. Guarantees compose if their
    units are equal.

    Parameters
    ----------
    who : str
        "record", "event", "edge", "user", or a word of your own, such as "patient". A leading
        "one" is dropped: "one patient" is "patient". What else holds of the unit is said by the
        parameters below; text that says it is refused.
    at_most : int
        The number protected together: ``PrivacyUnit("record", 5)`` for ``sensitivity=5``.
    bounds : mapping of str to int or None, optional
        Bounds on the data counted for each unit, by parameter name (`max_labels`, `max_count`,
        `max_records`, `max_events`; None for no bound). They are informative and not compared: the
        whole unit is protected, however little of it is counted.
    asserted : bool
        Whether the caller asserts the bounds: dphist has not counted the data. Not compared.
    or_rows : bool
        Whether rows without a `who` are kept, each protected as one of its own.
    events : int, optional
        The maximum number of events of one `who` that count, where all its events in a stream are
        protected. Not compared.
    exchanged : bool
        Whether neighbors are data sets of equal size: they differ by exchanging a `who` for another
        one (`docs/understand/proofs/exchanged.md`). Default: by adding or removing it.

    >>> PrivacyUnit("one user") == PrivacyUnit("user", bounds={"max_labels": 10})
    True
    >>> print(PrivacyUnit("record", 5), "|", PrivacyUnit("user"))
    at most 5 records | one user
    >>> print(PrivacyUnit("account", or_rows=True, asserted=True))
    one account, or one row without an account, as promised by the caller
    >>> print(PrivacyUnit("record", exchanged=True))
    one record, exchanged for another
    """

    who: str
    at_most: int
    bounds: Bounds = field(compare=False)
    asserted: bool = field(compare=False)
    or_rows: bool
    events: int | None = field(compare=False)
    exchanged: bool

    def __init__(
        self,
        who: str = "record",
        at_most: int = 1,
        bounds: Mapping[str, int | None] | Bounds = (),
        *,
        asserted: bool = False,
        or_rows: bool = False,
        events: int | None = None,
        exchanged: bool = False,
    ) -> None:
        object.__setattr__(self, "who", _check_who(who))
        facts = ("asserted", asserted), ("or_rows", or_rows), ("exchanged", exchanged)
        for name, fact in facts:
            if not isinstance(fact, bool):
                raise ParameterError(name, "must be True or False")
            object.__setattr__(self, name, fact)
        object.__setattr__(self, "events", optional_whole(events, "events", 1))
        object.__setattr__(self, "at_most", whole_number(at_most, "at_most", 1))
        object.__setattr__(self, "bounds", _bounds(bounds))

    def __str__(self) -> str:
        units = f"one {self.name}" if self.at_most == 1 else f"at most {self.together}"
        if self.exchanged and self.at_most > 1:
            units = f"{units}, each exchanged for another"
        if self.events is not None:
            units = f"all events of {units}, of which at most {self.events} count"
        return f"{units}, as promised by the caller" if self.asserted else units

    def __repr__(self) -> str:
        parts = [repr(self.who)]
        if self.at_most > 1:
            parts.append(str(self.at_most))
        if self.bounds:
            parts.append(f"bounds={dict(self.bounds)}")
        parts += [f"{name}={fact}" for name, fact in self._facts().items()]
        return f"PrivacyUnit({', '.join(parts)})"

    @property
    def plural(self) -> str:
        """The plural of `who`.

        >>> PrivacyUnit("entry").plural, PrivacyUnit("user", or_rows=True).plural
        ('entries', 'users, or rows without a user')
        """
        many = find_forms(self.who)[1] if self.is_one_word else f"times 'one {self.who}'"
        return f"{many}, or rows without {with_article(self.who)}" if self.or_rows else many

    @property
    def is_one_word(self) -> bool:
        """Whether `who` is a single word, of which the plural is known."""
        return self.who.replace("-", "").isalpha()

    @property
    def name(self) -> str:
        """One such unit in words, without "one": "patient, or one row without a patient"."""
        said = self.who
        if self.or_rows:
            said = f"{said}, or one row without {with_article(said)}"
        return f"{said}, exchanged for another" if self.exchanged and self.at_most == 1 else said

    @property
    def together(self) -> str:
        """The number of `who` in words, such as "5 records"."""
        return f"{self.at_most:,} {self.name if self.at_most == 1 else self.plural}"

    @property
    def compared(self) -> "PrivacyUnit":
        """The unit without what is not compared."""
        return replace(self.single, at_most=self.at_most)

    @property
    def single(self) -> "PrivacyUnit":
        """One of `who`, without what is not compared."""
        return PrivacyUnit(self.who, or_rows=self.or_rows, exchanged=self.exchanged)

    @property
    def in_or_out(self) -> "PrivacyUnit":
        """The same, added or removed."""
        return replace(self, exchanged=False) if self.exchanged else self

    def times(self, members: int) -> "PrivacyUnit":
        """Return the unit of `members` such units together."""
        times = whole_number(members, "members", 1)
        return replace(self, at_most=times * self.at_most)

    def named(self, data: "PrivacyUnit") -> "PrivacyUnit":
        """Return this unit of a mechanism under the name that the data give it.

        Whether it is exchanged is the mechanism's to say.

        Parameters
        ----------
        data : the unit of the data.

        >>> PrivacyUnit("record", 5).named(PrivacyUnit("user"))
        PrivacyUnit('user', bounds={'max_records': 5})
        >>> PrivacyUnit("user", bounds={"max_count": 1}).named(ONE_ROW)  # a row is a record then
        PrivacyUnit('record')
        """
        if self.exchanged or data.exchanged:
            found = self.in_or_out.named(data.in_or_out)
            return replace(found, exchanged=self.exchanged)
        bounds, same = dict(self.bounds), self.single == data.single
        if data.single == ONE_ROW and (self == ONE_RECORD or bounds.get("max_count") == 1):
            return ONE_RECORD  # a row that counts one is a record
        if self.single in (ONE_RECORD, ONE_EVENT) and not same:
            bounds = {f"max_{self.plural}": self.at_most}
        return PrivacyUnit(data.who, self.at_most if same else 1, bounds, or_rows=data.or_rows)

    def _facts(self) -> dict[str, Any]:
        """Return what holds of few units."""
        facts = {"asserted": self.asserted, "or_rows": self.or_rows, "events": self.events}
        facts["exchanged"] = self.exchanged
        return {name: fact for name, fact in facts.items() if fact}

    def to_content(self) -> dict[str, Any]:
        """Return the unit as content of JSON."""
        numbers = {"who": self.who, "at_most": self.at_most, "bounds": dict(self.bounds)}
        return {**numbers, **self._facts()}

    @classmethod
    def from_content(cls, content: Any) -> "PrivacyUnit":
        """Return the unit that `to_content` wrote; 0.2 wrote text, or facts in that of `who`."""
        if isinstance(content, str):
            return as_unit(content)
        facts = dict(content)
        who, of_text = read_unit_text(facts.pop("who"))
        return cls(who, facts.pop("at_most"), **{**facts, **of_text})


def as_unit(unit: "PrivacyUnit | str") -> PrivacyUnit:
    """Return a PrivacyUnit from itself or from its text, as callers give it.

    >>> as_unit("one account, or one row without an account")
    PrivacyUnit('account', or_rows=True)
    """
    if isinstance(unit, PrivacyUnit):
        return unit
    if not isinstance(unit, str) or not unit:
        raise ParameterError("unit", "must be a PrivacyUnit, or text such as 'one user'")
    who, facts = read_unit_text(unit)
    return PrivacyUnit(who, **facts)


def unit_of_data(unit: "PrivacyUnit | str") -> PrivacyUnit:
    """Return the unit that a caller names for data: a single one, whose bounds the data have."""
    named = as_unit(unit)
    if named.at_most > 1:
        raise ParameterError("unit", "must be a single one, such as 'one patient', not several")
    if named.exchanged:
        raise ParameterError(
            "unit",
            "of data must not be exchanged: it says whose the rows are",
            "a release states what an exchange costs beside its guarantee, as release.exchanged, "
            "and an account of a ledger may be for exchanged units",
        )
    return named


def asserted_unit(unit: "PrivacyUnit | str") -> PrivacyUnit:
    """Return the unit of counts that dphist has not made: the caller asserts the bounds.

    >>> print(asserted_unit("patient"))
    one patient, as promised by the caller
    """
    return replace(unit_of_data(unit), asserted=True)


def unit_of_users(
    user: str | None, unit: "PrivacyUnit | str | None", *, or_rows: bool = False
) -> PrivacyUnit:
    """Return the unit of a table whose contributions dphist bounds.

    Parameters
    ----------
    user : column of users. Without one, each row stands for itself.
    unit : what a user is, such as "one patient" (default: "one user"); refused without `user`.
    or_rows : whether rows without a user are kept, each as a user of its own.
    """
    if user is None and unit is not None:
        raise ParameterError(
            "unit", "needs " + Argument("user") + ": it says what the users of that column are"
        )
    if user is None:
        return ONE_ROW
    one = ONE_USER if unit is None else replace(unit_of_data(unit), asserted=False)
    return replace(one, or_rows=True) if or_rows else one


def _check_who(who: object) -> str:
    """Return what one of a unit is called; the text of another unit is refused."""
    word = without_one(who) if isinstance(who, str) else ""
    if word in ("", "one") or not word.isprintable() or len(word) > _LONGEST:
        raise ParameterError(
            "who", f"must be one line of at most {_LONGEST} characters, such as 'user'"
        )
    _, facts = read_unit_text(word)
    if facts:
        raise ParameterError(
            "who",
            f"must be a name alone: {' and '.join(facts)} must be given as a parameter",
            "write PrivacyUnit('patient', or_rows=True)",
        )
    return word


def _bounds(bounds: "Mapping[str, int | None] | Bounds") -> Bounds:
    held = dict(bounds)
    for name, bound in held.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError(
                "bounds", "must have names that are identifiers, such as max_labels"
            )
        if bound is not None:
            whole_number(bound, name, 1)
    return tuple(sorted(held.items()))


ONE_RECORD = PrivacyUnit()
"""The default unit of a guarantee."""
ONE_EVENT = PrivacyUnit("event")
ONE_ROW = PrivacyUnit("row")
"""Unit of rows that each stand for a bounded number of records."""
ONE_EDGE = PrivacyUnit("edge")
"""Unit of the degrees of a graph; edges are never dropped to meet a bound."""
ONE_USER = PrivacyUnit("user")
ASSERTED_USER = PrivacyUnit("user", asserted=True)
"""Unit of counts of users if nobody said what they are: the caller asserts the bounds."""
OF_ROWS = (ONE_RECORD, ONE_ROW, ONE_EDGE, ONE_EVENT)
"""Units of which one person may have many: protecting one says little of the person."""
