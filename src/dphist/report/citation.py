"""What to cite for a release: the paper of its mechanism and this library, as BibTeX."""

import re
from importlib.resources import files

from dphist.release.release import Release

_ENTRY = re.compile(r"^@.*?^}$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^  title = \{(.*)\},?$", re.MULTILINE)


def citation(release: Release) -> str:
    """Return BibTeX entries for a release: this library, and the paper of the mechanism.

    A mechanism whose paper is not known here, such as one of your own, is cited by the text of its
    `reference`, as a comment.
    """
    mechanism = release.mechanism
    reference = " ".join(str(getattr(mechanism, "reference", "")).split())
    cited = [_of_library(release.version), *_papers(reference)]
    said = f"% {type(mechanism).__name__}: {reference}" if reference else ""
    return "\n\n".join([each for each in (said, *cited) if each]) + "\n"


def _papers(reference: str) -> list[str]:
    """Return the entries whose titles a reference has."""
    text = files("dphist.report").joinpath("papers.bib").read_text(encoding="utf-8")
    found = []
    for each in _ENTRY.finditer(text):
        title = _TITLE.search(each[0])
        if title is not None and f". {title[1]}." in reference:
            found.append(each[0])
    return found


def _of_library(version: str) -> str:
    return (
        "@software{dphist,\n"
        "  author = {{The dphist maintainers}},\n"
        "  title = {dphist: differentially private histograms},\n"
        f"  version = {{{version}}},\n"
        "  license = {Apache-2.0}\n"
        "}"
    )
