"""The report: one HTML file about one release that opens anywhere, without a network."""

import re
from functools import lru_cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from dphist.atomic_files import check_output_path, write_text
from dphist.release.release import FOR_TESTS, Release
from dphist.report import mechanism_facts, words
from dphist.report.about import about_of
from dphist.report.disclosure.errata import errata_in_words
from dphist.report.disclosure.sections import sections_of
from dphist.report.kinds import kind_of
from dphist.report.labels_shown import harmless
from dphist.report.nouns import Nouns, Verbatim, in_own_words, nouns_of
from dphist.report.paid import paid_in_words

_LONGEST = 120  # letters of a label
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")


def write_report(release: Release, path: str | Path) -> None:
    """Write a report about a release: see `dphist.write_report`."""
    check_output_path(path)
    write_text(path, report_html(release))


def report_html(release: Release) -> str:
    """Return the report as the text of an HTML page."""
    checked = in_own_words(words.checked_release(release))
    kind, nouns = kind_of(checked), nouns_of(checked)
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
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("dphist", "report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = lambda text: f"{text[0].upper()}{text[1:]}."
    environment.filters["harmless"] = lambda label: harmless(label, _LONGEST)
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["typeset"] = lambda text: _typeset(say(text))
    environment.filters["said"] = say.of_markup
    environment.tests["verbatim"] = lambda text: isinstance(text, Verbatim)
    environment.filters["unbroken"] = lambda text: text.replace(" ", "\u00a0")
    return environment.get_template("page.html.j2")


def _typeset(text: str) -> Markup:
    """Escape a text, keep dates, numbers and their signs on one line, and curl apostrophes."""
    text = text.replace(" %", "\u00a0%").replace("'", "\u2019")
    text = text.replace("± ", "±\u00a0").replace("ε = ", "ε\u00a0=\u00a0")
    safe = str(escape(text))  # of Markup, re.sub would escape the tags as well
    return Markup(_DATE.sub(r'<span class="whole">\g<0></span>', safe))  # noqa: S704
