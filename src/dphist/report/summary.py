"""A release in a few lines of plain text, for a terminal."""

import textwrap

from dphist.release.release import FOR_TESTS, Release
from dphist.report.about import about_of
from dphist.report.disclosure.errata import errata_in_words
from dphist.report.kinds import kind_of
from dphist.report.labels_shown import harmless
from dphist.report.nouns import Verbatim, in_own_words, nouns_of
from dphist.report.paid import paid_in_words
from dphist.report.text_table import WIDTH
from dphist.report.words import checked_release

_LONGEST = 60  # letters of a label in a sentence


def summary_text(release: Release) -> str:
    """Return what was released and what it promises, in lines of at most 78 columns."""
    release = in_own_words(checked_release(release))
    kind, nouns = kind_of(release), nouns_of(release)
    summary = kind.summary(release)
    title = release.presentation.title or nouns(kind.title_of(release))
    lines = _wrapped(f"{title}, released with differential privacy (dphist {release.version})", "")
    if release.for_tests:
        lines += _wrapped(f"{FOR_TESTS.capitalize()}. It protects nobody.", "")
    for text in errata_in_words(release):
        lines += _wrapped(text, "")
    lines.append("")
    result = "".join(
        harmless(part, _LONGEST) if isinstance(part, Verbatim) else nouns(part)
        for part in kind.result(release)
    )
    if result:
        lines += [*_wrapped(result, "  "), ""]
    for name, words in about_of(release).rows:
        lines += _wrapped(words, f"  {name:<16}")
    for name, text in summary.facts:
        # A mechanism is Python, whatever labels are called.
        lines += _wrapped(text if name == "Mechanism" else nouns(text), f"  {nouns(name):<16}")
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
