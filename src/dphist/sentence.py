"""Sentence: a text with slots for the words of whoever owns a release."""

from collections.abc import Iterable, Mapping
from typing import Any

from dphist.privacy.as_text import with_article

_PLAIN = {"label": ("label", "labels"), "record": ("record", "records"), "user": ("user", "users")}


class Noun(str):
    """A noun of a sentence in whose place the owner's word stands, if there is one.

    Attributes
    ----------
    slot : name of the word that takes its place, such as "users".

    >>> Sentence("one {who}", who=Noun("patient", "user")).fill(map_slots(user=("guest", "guests")))
    'one guest'
    """

    __slots__ = ("slot",)
    slot: str

    def __new__(cls, text: str, slot: str) -> "Noun":
        """Make a noun."""
        made = super().__new__(cls, text)
        made.slot = slot
        return made


class Quoted(str):
    """Words in a sentence that are not the library's, such as a released label; pages isolate them.

    >>> Sentence("{first} leads", first=Quoted("tea")).fill({"quoted": "<{}>"})
    '<tea> leads'
    """

    __slots__ = ()


class Sentence(str):
    """A text that names labels, records and users by slots, which the owner's words fill.

    As a string it is the text in the library's own words. `fill` gives it in those of an owner.

    Parameters
    ----------
    template : with the slots ``{label}``, ``{labels}``, ``{a_label}``, and ``{Label}`` where a
        sentence begins; likewise for record and user. Other slots are filled by `values`.
    values : numbers, texts, nouns and sentences.

    >>> said = Sentence("{n:,} {labels} of {a_user}", n=1200)
    >>> print(said, "|", said.fill(map_slots(user=("owner", "owners"), label=("gene", "genes"))))
    1,200 labels of a user | 1,200 genes of an owner
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> "Sentence":
        """Make a sentence."""
        made = super().__new__(cls, template.format_map(_ALL_PLAIN | values))
        made.template, made.values = template, values
        return made

    def fill(self, slots: Mapping[str, str]) -> str:
        """Return the text in the words of `map_slots`."""
        values = {name: fill(value, slots) for name, value in self.values.items()}
        return self.template.format_map({**_ALL_PLAIN, **slots, **values})

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Copy and unpickle through the constructor."""
        return (self.template,), dict(self.values)


def fill(value: Any, slots: Mapping[str, str]) -> Any:
    """Return a value of a slot, or a whole text, in the words of `map_slots`."""
    if isinstance(value, Sentence):
        return value.fill(slots)
    if isinstance(value, Quoted):
        return slots.get("quoted", "{}").format(value)
    return slots.get(value.slot, str(value)) if isinstance(value, Noun) else value


def join_sentences(texts: Iterable[str], between: str = " ") -> Sentence:
    """Return texts in a row, without those that are empty.

    >>> join_sentences(["Counts.", "", Sentence("No {label}.")])
    'Counts. No label.'
    """
    values = {f"text_{place}": text for place, text in enumerate(filter(None, texts))}
    return Sentence(between.join(f"{{{name}}}" for name in values), **values)


def as_sentence(text: str) -> Sentence:
    """Return a text that begins with a capital and ends with a point.

    >>> as_sentence(Sentence("{labels} not seen are left out"))
    'Labels not seen are left out.'
    """
    if not isinstance(text, Sentence):
        return Sentence("{text}.", text=f"{text[0].upper()}{text[1:]}")
    template = text.template
    first = 1 if template[0] == "{" else 0
    return Sentence(
        f"{template[:first]}{template[first].upper()}{template[first + 1 :]}.", **text.values
    )


def many(number: int, noun: str) -> Sentence:
    """Return a number of labels, records or users, or of what has no word of the owner's.

    >>> many(1, "label"), many(2000, "record"), many(1, "pair of neighbors")
    ('1 label', '2,000 records', '1 pair of neighbors')
    """
    one, *rest = noun.split(" ", 1)
    word = f"{one}{'s'[: number != 1]}"
    word = f"{{{word}}}" if one in _PLAIN else word
    return Sentence(" ".join(["{number:,}", word, *rest]), number=number)


def many_events(number: int) -> Sentence:
    """Return a number of events.

    >>> many_events(1), many_events(2000)
    ('1 event', '2,000 events')
    """
    noun = "{event}" if number == 1 else "{events}"
    return Sentence(f"{{number:,}} {noun}", number=number, **EVENTS)


def map_slots(**words: tuple[str, str]) -> dict[str, str]:
    """Return the words of slots, from singular and plural of label, record and user."""
    slots = {}
    for noun, (one, several) in words.items():
        article = with_article(one)
        for name, word in ((noun, one), (f"{noun}s", several), (f"a_{noun}", article)):
            slots[name] = word
            slots[f"{name[0].upper()}{name[1:]}"] = f"{word[0].upper()}{word[1:]}"
    return slots


_ALL_PLAIN = map_slots(**_PLAIN)

EVENTS: dict[str, Noun] = {
    "event": Noun("event", "record"),
    "events": Noun("events", "records"),
    "an_event": Noun("an event", "a_record"),
    "Event": Noun("Event", "Record"),
    "Events": Noun("Events", "Records"),
}
"""Values of a sentence about events: the owner's word for a record stands in their place."""
