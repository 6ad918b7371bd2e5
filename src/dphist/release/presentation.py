"""Presentation: the words in which a release is shown, given by people, never taken from data."""

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from typing import Any, TypedDict

from dphist.errors import ParameterError
from dphist.privacy.unit import without_one

LONGEST = 200
"""Characters of a field; of a note, 1,000."""

_LONGEST_NOTE = 1000
_LONGEST_NOUN = 60
_JOINERS = "\u200c\u200d"  # inside words of some languages, and inside emoji
_NOUNS = ("unit", "label_name", "record_name")


class Words(TypedDict, total=False):
    """The fields of a `Presentation` that people choose; None removes one."""

    title: str | None
    unit: str | None
    label_name: str | None
    record_name: str | None
    dataset: str | None
    period: str | None
    owner: str | None
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """The words in which pages, pictures and summaries show a release.

    Everything is chosen by a person, or is the day of the release. Nothing may be taken from the
    data: dphist cannot check where a word comes from, and publishes it.

    Parameters
    ----------
    title : heading of page and summary.
    unit : what a user is, such as "patient". Not for releases that protect records, events or
        edges, nor for data whose user already has another name: a word promises nothing.
    label_name : what a label is, such as "gene".
    record_name : what a record is, such as "mutation".
    dataset, period, owner : which data, of what time, and who answers for them.
    note : anything else, such as the purpose.
    date : UTC day of the release as ``2026-11-23``; None in files of earlier versions.

    Raises
    ------
    ParameterError
        If a field is empty, longer than 200 characters (names 60, notes 1,000), or is not a single
        line of printable text.

    Notes
    -----
    The plural of a name follows the English rule; give an irregular one behind a slash:
    ``"person/people"``, ``"taxon/taxa"``.

    >>> Presentation(label_name="gene", unit="person/people", date=None).to_content()
    {'unit': 'person/people', 'label_name': 'gene'}
    """

    title: str | None = None
    unit: str | None = None
    label_name: str | None = None
    record_name: str | None = None
    dataset: str | None = None
    period: str | None = None
    owner: str | None = None
    note: str | None = None
    date: str | None = field(default_factory=lambda: datetime.now(UTC).date().isoformat())

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                continue
            if item.name == "date":
                _check_date(value)
            elif item.name in _NOUNS:
                object.__setattr__(self, item.name, _noun(value, item.name))
            else:
                longest = _LONGEST_NOTE if item.name == "note" else LONGEST
                object.__setattr__(self, item.name, _line(value, item.name, longest))

    def with_words(self, **words: Any) -> "Presentation":
        """Return this presentation with some fields replaced; the date is a fact, and stays.

        Raises
        ------
        ParameterError
            If a name is not that of a field, or a value is not valid.
        """
        unknown = [name for name in words if name not in WORDS]
        if unknown:
            raise ParameterError(unknown[0], f"is unknown: the words are {', '.join(WORDS)}")
        return replace(self, **words)

    def to_content(self) -> dict[str, str]:
        """Return the fields that are given, for JSON."""
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in held.items() if value is not None}

    @classmethod
    def from_content(cls, content: Any) -> "Presentation":
        """Read the result of `to_content`; ParameterError or TypeError if it is not one."""
        return cls(**{"date": None, **content})


WORDS = tuple(item.name for item in fields(Presentation) if item.name != "date")
"""Names of the fields that people choose."""


def _noun(value: object, name: str) -> str:
    text = _line(value, name, 2 * _LONGEST_NOUN + 1)
    if name == "unit":
        text = "" if text == "one" else without_one(text)
    parts = [part.strip() for part in text.split("/")]
    if len(parts) > 2 or not all(parts) or max(map(len, parts)) > _LONGEST_NOUN:
        raise ParameterError(
            name,
            f"must be a name of at most {_LONGEST_NOUN} characters, such as 'gene', or two forms "
            "of it, such as 'person/people'",
        )
    return "/".join(parts)


def _line(value: object, name: str, longest: int) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > longest or not all(c.isprintable() or c in _JOINERS for c in text):
        raise ParameterError(
            name,
            f"must be one line of text, without control characters, of at most {longest:,} "
            "characters",
        )
    return text


def _check_date(value: object) -> None:
    try:
        valid = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        valid = False
    if not valid:
        raise ParameterError("date", "must be a day, such as 2026-11-23")
