"""The pages as a repository host shows them, made into those of a site.

Pages link to `../SECURITY.md` and to the folder `proofs`, as a repository host expects. On the site
these are pages too. A page with the line `<!-- page ../../SECURITY.md -->` becomes that file, and
links are rewritten before a page is parsed.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

# What is outside of docs, or a folder in it, and the page that stands for it on the site.
PAGES = {
    "../README.md": "start/overview.md",
    "../SECURITY.md": "project/security.md",
    "../ARCHITECTURE.md": "project/architecture.md",
    "../CONTRIBUTING.md": "project/contributing.md",
    "../CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "../ROADMAP.md": "project/roadmap.md",
    "../CHANGELOG.md": "project/changelog.md",
    "../data/SOURCES.md": "project/data.md",
    "understand/proofs": "understand/proofs/index.md",
    "project/decisions": "project/decisions/index.md",
}
LINK = re.compile(r"(\]\()(?!https?:|mailto:)([^)#\s]+)(#[^)\s]*)?(\))")
SHOWN = re.compile(r"^<!-- page (\S+) -->$", re.MULTILINE)


def rewritten(text: str, place: str, shown: str) -> str:
    """Return the text of a page with its links as the site has them.

    Parameters
    ----------
    text : str
        Markdown.
    place : str
        The file it comes from, relative to `docs`.
    shown : str
        The page that shows it, relative to `docs`.
    """
    folder, shown_folder = (str(PurePosixPath(each).parent) for each in (place, shown))

    def link(found: re.Match[str]) -> str:
        opening, target, anchor, closing = found.groups()
        reached = normpath(f"{folder}/{target}").removeprefix("../docs/")
        return (
            opening + relpath(PAGES.get(reached, reached), shown_folder) + (anchor or "") + closing
        )

    return LINK.sub(link, text)


def read(app: Any, name: str, source: list[str]) -> None:
    """Put in the file that a page shows, and rewrite the links."""
    if (page := Path(app.env.doc2path(name))).suffix != ".md":
        return
    place = relpath(str(page), str(app.srcdir))
    text, origin = source[0], place
    if shown := SHOWN.search(text):
        origin = normpath(f"{PurePosixPath(place).parent}/{shown[1]}")
        app.env.note_dependency(str(app.srcdir / origin))
        text = (Path(app.srcdir) / origin).read_text()
    source[0] = rewritten(text, origin, place)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
