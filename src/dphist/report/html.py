"""The report: one HTML file about one release that opens anywhere, without a network."""

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from dphist.atomic_files import check_output_path, write_text
from dphist.release.release import FOR_TESTS, Release
from dphist.report import words
from dphist.report.kinds import kind_of
from dphist.report.what_is_counted import counted_of


def write_report(release: Release, path: str | Path) -> None:
    """Write a report about a release: see `dphist.write_report`."""
    check_output_path(path)
    write_text(path, report_html(release))


def report_html(release: Release) -> str:
    """Return the report as the text of an HTML page."""
    checked = words.checked_release(release)
    kind = kind_of(checked)
    marked = {
        "for_tests": FOR_TESTS if checked.for_tests else None,
        "counts_of": counted_of(checked),
    }
    return _environment().get_template(kind.template).render({**kind.page(checked), **marked})


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dphist", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["typeset"] = _typeset
    return environment


def _typeset(text: str) -> str:
    """Keep a number and its percent sign on one line, and curl apostrophes."""
    return text.replace(" %", "\u00a0%").replace("'", "\u2019")
