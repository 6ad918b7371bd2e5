"""Text of a privacy unit, as files of 0.2 hold it and callers may give it."""

from typing import Any

from dphist.privacy.as_text import with_article

_LONGEST = 800
_EVENTS_OF = "all events of "


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
    if not isinstance(text, str) or len(text) > _LONGEST:
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
