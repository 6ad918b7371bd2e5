"""The report: one HTML file about one release that opens anywhere, without a network."""

from pathlib import Path

from dphist.document.blocks import PAGE, Fact, Section
from dphist.document.guarantee_words import checked_release
from dphist.files import check_output_path, write_text
from dphist.release.release import Release
from dphist.render.html import page
from dphist.report.disclosure.sections import PIPELINE, sections_of
from dphist.report.kinds import shown_as
from dphist.sentence import Sentence, joined

_PAGE = frozenset({PAGE})


def write_report(release: Release, path: str | Path) -> None:
    """Write a report about a release: see `dphist.write_report`."""
    check_output_path(path)
    write_text(path, report_html(release))


def report_html(release: Release) -> str:
    """Return the report as the text of an HTML page."""
    checked = checked_release(release)
    disclosed = [
        Fact(name, joined(_number(said) if name == PIPELINE else said), on=_PAGE)
        for name, said in sections_of(checked)
    ]
    return page(shown_as(checked).with_section(Section("disclosure", "Disclosure", disclosed)))


def _number(steps: list[str]) -> list[Sentence]:
    """Return steps with their numbers."""
    return [Sentence("{n}. {step}", n=n, step=step) for n, step in enumerate(steps, 1)]
