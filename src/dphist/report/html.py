"""The report: one HTML file about one release that opens anywhere, without a network."""

from functools import lru_cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template

from dphist.atomic_files import check_output_path, write_text
from dphist.document.blocks import PAGE, Fact, Section
from dphist.document.guarantee_words import checked_release
from dphist.release.release import Release
from dphist.render.html import page, typeset
from dphist.report.disclosure.sections import PIPELINE, sections_of
from dphist.report.kinds import shown_as
from dphist.sentence import Sentence, joined
from dphist.visible import harmless

_LONGEST = 120  # letters of a label
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


@lru_cache(maxsize=16)
def template_of(package: str) -> Template:
    """Return the page template of a package; what it extends may be in this one.

    Compiling one takes 50 ms, as long as the rest of a small page.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("dphist", "render")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = lambda text: f"{text[0].upper()}{text[1:]}."
    environment.filters["harmless"] = lambda label: harmless(label, _LONGEST)
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["typeset"] = typeset
    environment.filters["unbroken"] = lambda text: text.replace(" ", "\u00a0")
    return environment.get_template("page.html.j2")
