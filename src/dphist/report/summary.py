"""A release in a few lines of plain text, for a terminal."""

import textwrap

from dphist.release.release import FOR_TESTS, Release
from dphist.report.disclosure.errata import errata_in_words
from dphist.report.kinds import kind_of
from dphist.report.paid import paid_in_words
from dphist.report.text_table import WIDTH
from dphist.report.words import checked_release


def summary_text(release: Release) -> str:
    """Return what was released and what it promises, in lines of at most 78 columns."""
    release = checked_release(release)
    kind = kind_of(release)
    summary = kind.summary(release)
    lines = _wrapped(
        f"{kind.title_of(release)}, released with differential privacy (dphist {release.version})",
        "",
    )
    if release.for_tests:
        lines += _wrapped(f"{FOR_TESTS.capitalize()}. It protects nobody.", "")
    for text in errata_in_words(release):
        lines += _wrapped(text, "")
    lines.append("")
    paid = paid_in_words(release.provenance)
    for name, text in [*summary.facts, *([("Ledger", paid)] if paid else [])]:
        lines += _wrapped(text, f"  {name:<16}")
    lines.append("")
    lines += _wrapped(summary.promise, "  ")
    lines.append("")
    lines += summary.table
    return "\n".join(lines) + "\n"


def _wrapped(text: str, first: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
