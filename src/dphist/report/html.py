"""The report: one HTML file about one release that opens anywhere, without a network."""

from functools import lru_cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template

from dphist.atomic_files import check_output_path, write_text
from dphist.document import guarantee_words as words
from dphist.document import mechanism_facts
from dphist.document.about import about_of, paid_in_words
from dphist.document.blocks import PAGE, Document, Fact, Section
from dphist.document.errata import errata_in_words
from dphist.release.release import FOR_TESTS, Release
from dphist.render.html import page, typeset
from dphist.report.disclosure.sections import PIPELINE, sections_of
from dphist.report.kind import Kind
from dphist.report.kinds import shown_as
from dphist.report.nouns import Nouns, Verbatim, in_own_words, nouns_of
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
    checked = words.checked_release(release)
    shown = shown_as(checked)
    if not isinstance(shown, Document):
        return _html_of_kind(shown, in_own_words(checked))
    disclosed = [
        Fact(name, joined(_number(said) if name == PIPELINE else said), on=_PAGE)
        for name, said in sections_of(checked)
    ]
    return page(shown.with_section(Section("disclosure", "Disclosure", disclosed)))


def _number(steps: list[str]) -> list[Sentence]:
    """Return steps with their numbers."""
    return [Sentence("{n}. {step}", n=n, step=step) for n, step in enumerate(steps, 1)]


def _html_of_kind(kind: Kind, checked: Release) -> str:
    """Return the page of a kind that declares no document yet."""
    nouns = nouns_of(checked)
    beside = type(kind).__module__.rpartition(".")[0]
    return template_of(beside, nouns).render(
        title=checked.presentation.title or nouns(kind.title_of(checked)),
        kind=kind.name,
        result=kind.result(checked),
        about=about_of(checked),
        nouns=nouns,
        version=checked.version,
        for_tests=FOR_TESTS if checked.for_tests else None,
        promise=kind.promise(checked),
        counts_of=kind.counted(checked),
        made=checked.mechanism.description,
        call=mechanism_facts.call(checked.mechanism),
        page=kind.page(checked),
        paid=paid_in_words(checked.provenance),
        disclosed=sections_of(checked),
        faults=errata_in_words(checked),
    )


@lru_cache(maxsize=16)
def template_of(package: str, nouns: Nouns | None = None) -> Template:
    """Return the page template of a package; what it extends may be in this one.

    Compiling one takes 50 ms, as long as the rest of a small page.

    Parameters
    ----------
    nouns : the words that sentences are typeset in.
    """
    say = nouns or Nouns()
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader(package, "."),
                PackageLoader("dphist", "report"),
                PackageLoader("dphist", "render"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = lambda text: f"{text[0].upper()}{text[1:]}."
    environment.filters["harmless"] = lambda label: harmless(label, _LONGEST)
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["typeset"] = lambda text: typeset(say(text))
    environment.filters["said"] = say.of_markup
    environment.tests["verbatim"] = lambda text: isinstance(text, Verbatim)
    environment.filters["unbroken"] = lambda text: text.replace(" ", "\u00a0")
    return environment.get_template("page.html.j2")
