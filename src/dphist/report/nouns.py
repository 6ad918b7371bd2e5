"""The words in which people present a release, put into the sentences of the library.

Sentences are written about users, labels, records and events. `Nouns` puts the words of a
`Presentation` in their place: "at most 2 labels" becomes "at most 2 genes". What is no sentence of
the library, such as a released label, is `Verbatim` and stays.
"""

import re
from dataclasses import dataclass, replace
from typing import TypeVar

from markupsafe import Markup, escape

from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import with_article
from dphist.privacy.unit import ASSERTED_USER
from dphist.release.presentation import forms_of
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts

_GENERIC = {
    "label": ("label", "labels"),
    "record": ("record", "records"),
    "event": ("event", "events"),
}
_NO_PARAMETER = r"(?<![\w.-])", r"(?![\w=(-])"  # of a call, such as labels=None

Forms = tuple[str, str]
Text = TypeVar("Text", bound=str)


class Verbatim(str):
    """Text that is shown as it is: a released label, or words of a person."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Nouns:
    """What users, labels and records are called, each as singular and plural.

    Attributes
    ----------
    unit : who is protected, without "one".
    swaps : the words of sentences by what stands in their place.

    >>> nouns = Nouns(swaps=(("label", "gene"), ("labels", "genes"), ("record", "entry")))
    >>> nouns("A label has labels=None and 3 labels. Labels of a record.")
    'A gene has labels=None and 3 genes. Genes of an entry.'
    """

    label: Forms = _GENERIC["label"]
    record: Forms = _GENERIC["record"]
    unit: Forms = ("record", "records")
    swaps: tuple[tuple[str, str], ...] = ()

    def __call__(self, text: str) -> str:
        """Return a sentence of the library in the words of the release."""
        if not self.swaps or isinstance(text, Verbatim):
            return text
        found = dict(self.swaps)
        names = "|".join(sorted(map(re.escape, found), key=len, reverse=True))
        before, after = _NO_PARAMETER
        pattern = rf"{before}(?:(?P<article>[Aa])n? )?(?P<noun>{names}){after}"
        return re.sub(pattern, lambda each: _swapped(each, found), text, flags=re.IGNORECASE)

    def of_markup(self, text: Markup) -> Markup:
        """Return static text of a page in the words of the release, escaped."""
        safe = tuple((name, str(escape(word))) for name, word in self.swaps)
        return Markup(replace(self, swaps=safe)(str(text)))  # noqa: S704 - escaped a line ago

    def several(self, number: int, forms: Forms) -> str:
        """Write a number of things.

        >>> Nouns().several(1, ("gene", "genes")), Nouns().several(1200, ("gene", "genes"))
        ('1 gene', '1,200 genes')
        """
        return f"{number:,} {forms[number != 1]}"


def _swapped(found: "re.Match[str]", swaps: dict[str, str]) -> str:
    noun, article = found["noun"], found["article"]
    word = swaps[noun.lower()]
    if article:
        return f"{article}{with_article(word)[1:]}"
    return f"{word[0].upper()}{word[1:]}" if noun[0].isupper() else word


def nouns_of(release: Release) -> Nouns:
    """Return the words of a release."""
    given, swaps = release.presentation, []
    who = release.guarantee.unit.who
    plural = PrivacyUnit(who).plural
    unit = forms_of(who if given.unit is None else given.unit)
    if given.unit is not None:
        swaps += [(plural, unit[1]), *zip(("user", "users"), unit, strict=True)]
    label, record = _GENERIC["label"], _GENERIC["record"]
    if given.label_name is not None:
        label = forms_of(given.label_name)
        swaps += zip(_GENERIC["label"], label, strict=True)
    if given.record_name is not None:
        record = forms_of(given.record_name)
        for noun in ("record", "event"):
            swaps += zip(_GENERIC[noun], record, strict=True)
        swaps.append(("one row", f"one {record[0]}"))
        if who in ("record", "event", "row"):
            unit = record
    return Nouns(label, record, unit, tuple(swaps))


def in_own_words(release: Release) -> Release:
    """Return a release that calls its user by the word of its presentation.

    The result is for showing; what is saved keeps the unit of the data.
    """
    word = release.presentation.unit
    if word is None:
        return release
    own = release.guarantee.unit if isinstance(release.value, RunningCounts) else ASSERTED_USER
    unit = release.provenance.get("unit", own)
    if unit.who == "user":
        unit = replace(unit, who=forms_of(word)[0])
    return replace(release, provenance={**release.provenance, "unit": unit})
