"""The site that `make docs` builds: complete, without warnings, and without other hosts."""

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

import dphist as dh

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (400, 1200)  # pixels, of a phone and of a desk
# What a browser loads by itself; a link that a reader follows may lead anywhere.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|link)\b[^>]*"
    r"(?:src|href|srcset|data)=[\"'](?:https?:)?//[^>]*>"
)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*")


def test_every_public_name_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "python.md").read_text()
    listed = re.findall(r"^   (\w+)$", page, re.MULTILINE)
    errors = set(re.findall(r"^\| `(\w+)` ", (DOCS / "reference" / "errors.md").read_text(), re.M))
    public = set(dh.__all__) - {"__version__"}
    raised = set(dh._HOMES["errors"])
    assert sorted(listed) == sorted(public - raised)
    assert errors == raised


def test_every_page_is_in_the_contents() -> None:
    """A list item of an index that begins with a link puts that page into the contents."""
    listed = [DOCS / "index.md"]
    for index in DOCS.rglob("index.md"):
        items = re.findall(r"^[-*] \[[^\]]+\]\(([^)#:\s]+\.md)\)", index.read_text(), re.MULTILINE)
        listed += [(index.parent / item).resolve() for item in items]
    assert sorted(listed) == sorted(path.resolve() for path in DOCS.rglob("*.md"))


def test_every_command_is_in_the_reference() -> None:
    from dphist.commands.registry import COMMANDS

    page = (DOCS / "reference" / "command-line.md").read_text()
    assert re.findall(r"<!-- command (\S+) -->", page) == list(COMMANDS)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", folder / "doctrees", DOCS, folder / "html"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "html"


@pytest.mark.verify
def test_the_site_is_built_and_asks_no_other_host(site) -> None:
    from tests.report.chromium import chromium

    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        assert not LOADED.findall(page.read_text()), page
    for style in site.rglob("*.css"):
        assert not IN_STYLES.findall(style.read_text()), style
    with chromium() as browser:
        for scheme, width in itertools.product(SCHEMES, WIDTHS):
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": 900}
            )
            asked: list[str] = []
            wrong: list[str] = []
            page = context.new_page()
            _listen(page, asked, wrong)
            for name in ("index", "labels", "reference/api/dphist.ThresholdHistogram"):
                page.goto((site / f"{name}.html").as_uri())
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (name, scheme, width)
                assert page.evaluate("document.documentElement.dataset.theme") == scheme
            assert asked
            assert all(url.startswith(("file:", "data:")) for url in asked)
            assert not wrong
            context.close()
        page = browser.new_page()
        page.goto((site / "search.html").as_uri() + "?q=threshold")
        page.wait_for_selector("ul.search li")
        assert page.locator("ul.search li").count() > 5


def _listen(page, asked: list[str], wrong: list[str]) -> None:
    """Note what a page asks for, and the errors of its scripts."""
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/x.css">',
        "<img alt='' src='http://a.example/x.png'>",
    ],
)
def test_loads_from_other_hosts_are_found(text) -> None:
    assert LOADED.search(text)
    assert not LOADED.search('<a href="https://a.example">a</a> <script src="x.js"></script>')
    assert IN_STYLES.search("@import 'https://a.example/x.css'")
