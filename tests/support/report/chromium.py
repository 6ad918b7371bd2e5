"""Pages in Chromium: what is laid out where, what is requested, and what axe-core says of it."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what drives a browser is installed for `make verify`
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")

# Rectangles of all visible text, by text node and line: [node, left, top, right, bottom, text].
_TEXT = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let node, number = 0;
  while ((node = walker.nextNode())) {
    const parent = node.parentElement;
    if (!node.nodeValue.trim() || parent.closest('.hidden, style, title, desc')
        || !parent.checkVisibility()) continue;
    const hidden = parent.closest('thead');
    if (hidden && getComputedStyle(hidden).clipPath !== 'none') continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    number += 1;
    // What a box scrolls to later lies behind what follows it.
    const box = parent.closest('.scrolled')?.getBoundingClientRect();
    for (const r of range.getClientRects())
      if (r.width > 0.5 && r.height > 0.5 && !(box && (r.top < box.top || r.bottom > box.bottom)))
        found.push([number, r.left, r.top + scrollY, r.right, r.bottom + scrollY,
                    node.nodeValue.trim().slice(0, 40)]);
  }
  return found;
}"""

# Text that leaves its drawing, whose edge cuts it.
_CUT = """() => [...document.querySelectorAll('svg text')].filter(text => {
  const t = text.getBoundingClientRect(), s = text.closest('svg').getBoundingClientRect();
  return t.width > 0 && (t.left < s.left - 1 || t.right > s.right + 1 || t.top < s.top - 1
                         || t.bottom > s.bottom + 1);
}).map(text => text.textContent)"""

# Text in a box that hides what does not fit.
_CLIPPED = """() => [...document.querySelectorAll('body *:not(svg):not(svg *)')].filter(e =>
  !e.closest('.hidden') && !(e.closest('thead') && getComputedStyle(e.closest('thead')).clipPath
    !== 'none') && e.clientWidth > 0 && getComputedStyle(e).overflowX !== 'visible' &&
  e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + ': ' + e.textContent.slice(0, 60))"""

_FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]"


def chromium_path() -> str:
    """Return the path of Chromium; say how to install it if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "Chromium is missing: install it with 'apt-get install chromium', as root"
    return found


@contextmanager
def chromium() -> "Iterator[Browser]":
    """Start Chromium, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@dataclass
class Shown:
    """A page that a browser shows, with the requests it made."""

    page: "Page"
    requests: list[str] = field(default_factory=list)

    def scrolls_sideways(self) -> float:
        """Return by how many pixels the page is wider than the window."""
        return float(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def texts(self) -> list[list[Any]]:
        """Return the rectangles of all visible text."""
        return list(self.page.evaluate(_TEXT))

    def cut(self) -> list[str]:
        """Return texts that reach beyond the window, their figure, or a box that hides the rest."""
        width = float(self.page.evaluate("innerWidth"))
        beyond = [t[5] for t in self.texts() if t[1] < -1 or t[3] > width + 1]
        return [*beyond, *self.page.evaluate(_CUT), *self.page.evaluate(_CLIPPED)]

    def overlaps(self) -> list[tuple[str, str]]:
        """Return pairs of texts that lie on each other.

        Boxes are as high as their font asks for, which letters seldom fill; a fifth at the top and
        at the bottom does not count.
        """
        found, rects = [], []
        for node, left, top, right, bottom, text in self.texts():
            margin = (bottom - top) / 5
            rects.append((top + margin, bottom - margin, left + 1, right - 1, node, text))
        rects.sort()
        for at, (top, bottom, left, right, node, text) in enumerate(rects):
            for other in rects[at + 1 :]:
                if other[0] >= bottom:
                    break
                if other[4] != node and other[2] < right and left < other[3] and top < other[1]:
                    found.append((text, other[5]))
        return found

    def axe(self) -> list[str]:
        """Return what axe-core finds wrong: rule and element."""
        from axe_core_python.sync_playwright import Axe

        found = Axe().run(self.page)
        return [
            f"{rule['id']}: {node['html'][:120]}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def tab_order(self) -> tuple[list[str], list[str]]:
        """Return what the Tab key reaches, and what it should reach, in the page's order."""
        wanted = self.page.eval_on_selector_all(
            _FOCUSABLE, "all => all.map((e, i) => (e.dataset.at = i, e.textContent.trim()))"
        )
        reached = []
        for _ in wanted:
            self.page.keyboard.press("Tab")
            reached.append(self.page.evaluate("document.activeElement.textContent.trim()"))
        return reached, wanted

    def landmarks(self) -> list[str]:
        """Return the sections without a name, and `main` if there is not exactly one."""
        unnamed = self.page.eval_on_selector_all(
            "section", "all => all.filter(s => !document.getElementById("
            "s.getAttribute('aria-labelledby'))?.textContent.trim()).map(s => s.outerHTML)"
        )  # fmt: skip
        return unnamed if self.page.locator("main").count() == 1 else [*unnamed, "main"]


@contextmanager
def shown(browser: "Browser", path: Path, width: int, scheme: str = "light") -> Iterator[Shown]:
    """Show a page in a window of this width."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    found = Shown(context.new_page())
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.goto(path.as_uri())
    yield found
    context.close()


_SHEET = 1009  # 267 mm
_HEADINGS_AGAIN = """sheet => [...document.querySelectorAll("table")].reduce((sum, table) =>
  sum + Math.floor(table.offsetHeight / sheet) * (table.tHead ? table.tHead.offsetHeight : 0), 0)"""


def printed_pages(shown: Shown) -> tuple[int, float]:
    """Print a page on A4; return how many sheets there are, and how many its content would fill.

    Tables that go on on another sheet have their heading there again.
    """
    sheets = len(re.findall(rb"/Type\s*/Page\b", shown.page.pdf(format="A4")))
    shown.page.emulate_media(media="print")
    shown.page.set_viewport_size({"width": 680, "height": 900})  # 180 mm at 96 dots an inch
    height = float(shown.page.evaluate("document.documentElement.scrollHeight"))
    height += float(shown.page.evaluate(_HEADINGS_AGAIN, _SHEET))
    return sheets, height / _SHEET
