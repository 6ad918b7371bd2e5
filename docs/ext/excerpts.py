"""Excerpts among the results of a search, also where the site is opened from files.

Sphinx's search reads each page it found with `fetch()`, for a few words around the match. Browsers
refuse that for files. `_static/pages.js` therefore holds the text of all pages, and
`static/excerpts.js`, which only the search page loads, answers from it.
"""

import json
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

SKIPPED = ("script", "style")
VOID = ("area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr")


class Text(HTMLParser):
    """The text of a page between the sections that hold it, where a search finds its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._open: list[tuple[str, bool, bool]] = []  # the tag, whether kept, whether skipped

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the sections of an article, and note what text is skipped."""
        if tag in VOID:
            return
        given = {name: value or "" for name, value in attrs}
        kept = tag == "section" and "id" in given
        skipped = tag in SKIPPED or "headerlink" in given.get("class", "").split()
        if kept:
            self.parts.append(f'<section id="{escape(given["id"])}">')
        self._open.append((tag, kept, skipped))

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last."""
        if any(tag == each for each, _, _ in self._open):
            closed = ""
            while closed != tag:
                closed, kept, _ = self._open.pop()
                if kept:
                    self.parts.append("</section>")

    def handle_data(self, data: str) -> None:
        """Keep the text of an article."""
        inside = any(tag == "article" for tag, _, _ in self._open)
        if inside and not any(skipped for _, _, skipped in self._open):
            self.parts.append(escape(data, quote=False))


def text_of(page: str) -> str:
    """Return the text of a page of the site, with its sections as tags."""
    parser = Text()
    parser.feed(page)
    return "".join(parser.parts)


def search_page(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Load the script on the search page alone."""
    if page == "search":
        app.add_js_file("excerpts.js")


def write(app: Any, error: Exception | None) -> None:
    """Write the text of all pages into one script."""
    folder = Path(app.outdir)
    if error is None and (folder / "_static").is_dir():
        texts = {
            name: text_of((folder / f"{name}.html").read_text(encoding="utf-8"))
            for name in sorted(app.env.found_docs)
        }
        script = f"const PAGES = {json.dumps(texts, ensure_ascii=False)};\n"
        (folder / "_static" / "pages.js").write_text(script, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", search_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
