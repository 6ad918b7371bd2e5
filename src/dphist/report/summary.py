"""A release in a few lines of plain text, for a terminal."""

import textwrap

from dphist.document.about import about_of, paid_in_words
from dphist.document.blocks import Document
from dphist.document.errata import errata_in_words
from dphist.document.guarantee_words import checked_release
from dphist.release.release import FOR_TESTS, Release
from dphist.render.text import text
from dphist.render.text_table import WIDTH
from dphist.report.kind import Kind
from dphist.report.kinds import shown_as
from dphist.report.nouns import Verbatim, in_own_words, nouns_of
from dphist.visible import harmless

_LONGEST = 60  # letters of a label in a sentence


def summary_text(release: Release) -> str:
    """Return what was released and what it promises, in lines of at most 78 columns."""
    shown = shown_as(checked_release(release))
    if isinstance(shown, Document):
        return text(shown)
    return _text_of_kind(shown, in_own_words(release))


def _text_of_kind(kind: Kind, release: Release) -> str:
    """Return the text of a kind that declares no document yet."""
    nouns = nouns_of(release)
    summary = kind.summary(release)
    title = release.presentation.title or nouns(kind.title_of(release))
    lines = _wrapped(f"{title}, released with differential privacy (dphist {release.version})", "")
    if release.for_tests:
        lines += _wrapped(f"{FOR_TESTS.capitalize()}. It protects nobody.", "")
    for fault in errata_in_words(release):
        lines += _wrapped(fault, "")
    lines.append("")
    result = "".join(
        harmless(part, _LONGEST) if isinstance(part, Verbatim) else nouns(part)
        for part in kind.result(release)
    )
    if result:
        lines += [*_wrapped(result, "  "), ""]
    for name, words in about_of(release).rows:
        lines += _wrapped(words, f"  {name:<16}")
    for name, said in summary.facts:
        # A mechanism is Python, whatever labels are called.
        lines += _wrapped(said if name == "Mechanism" else nouns(said), f"  {nouns(name):<16}")
    paid = paid_in_words(release.provenance)
    if paid:
        lines += _wrapped(paid, f"  {'Ledger':<16}")
    lines.append("")
    lines += _wrapped(nouns(summary.promise), "  ")
    lines.append("")
    lines += summary.table
    return "\n".join(lines) + "\n"


def _wrapped(text: str, first: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
