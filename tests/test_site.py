"""The site that `make docs` builds: complete, without warnings, and without other hosts."""

import importlib
import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pytest
from mutants.catalogue import load

import dphist as dh

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS / "ext"))
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
    from dphist.commands.registry import find_commands

    page = (DOCS / "reference" / "command-line.md").read_text()
    assert re.findall(r"<!-- command (\S+) -->", page) == list(find_commands())


def test_every_planted_bug_is_on_its_page() -> None:
    source = [(DOCS / "understand" / "mutants.md").read_text()]
    importlib.import_module("planted_bugs").read(None, "understand/mutants", source)
    rows = re.findall(r"^\| ([\w-]+)(?: \(\*long\*\))? \| .* \| \[.*\]\((.*?)\)", source[0], re.M)
    assert [name for name, _ in rows] == [mutant.name for mutant in load()]
    assert all((DOCS / "understand" / page).is_file() for _, page in rows)


# What newcomers look for in the documentation.
ASKED_FOR = (
    *("median", "percentile", "Excel", "group by", "confidence interval", "pivot"),
    *("small counts", "k-anonymity", "GDPR"),
)
# What somebody with a rule for small counts asks for: the guide about rules is among the first.
OF_A_RULE = (
    *("suppress", "suppression", "small cell suppression", "small counts", "round to 5"),
    *("rounding rule", "cell key", "n<5", "n<10", "HIPAA", "ten-five", "complementary"),
)


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
    from tests.support.report.chromium import chromium

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
            for name in ("index", "guides/labels", "reference/api/dphist.ThresholdHistogram"):
                page.goto((site / f"{name}.html").as_uri())
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (name, scheme, width)
                assert page.evaluate("document.documentElement.dataset.theme") == scheme
            assert asked
            assert all(url.startswith(("file:", "data:")) for url in asked)
            assert not wrong
            context.close()
        _check_every_page_on_a_phone(browser, site)
        page = browser.new_page()
        page.goto((site / "search.html").as_uri() + "?q=threshold")
        page.wait_for_selector("ul.search li:nth-child(6)")  # they come one after another
        assert page.locator("ul.search li").count() > 5
        excerpt = page.locator("ul.search li p.context").first
        assert "threshold" in excerpt.inner_text().lower()  # though browsers fetch no files
        for asked_for in ASKED_FOR:
            page.goto((site / "search.html").as_uri() + f"?q={quote(asked_for)}")
            page.wait_for_selector('ul.search li a[href*="guides/"]')  # a guide is found
        for asked_for in OF_A_RULE:
            page.goto((site / "search.html").as_uri() + f"?q={quote(asked_for)}")
            page.wait_for_selector('ul.search li a[href*="guides/rules"]')


# Elements that reach beyond the window, and are in no table or example that can be moved sideways.
CUT_OFF = """() => [...document.querySelectorAll('article *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (box.width === 0 || box.right <= innerWidth + 1 || !e.checkVisibility()) return false;
  for (let around = e; around.tagName !== 'ARTICLE'; around = around.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(around).overflowX)) return false;
  return true;
}).map(e => e.outerHTML.slice(0, 100))"""


def _check_every_page_on_a_phone(browser, site: Path) -> None:
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
    written = sorted(set(site.rglob("*.html")) - set(made := sorted(site.rglob("api/*.html"))))
    for path in [*written, *made[::5]]:  # pages of names are made alike
        page.goto(path.as_uri())
        assert not page.evaluate(CUT_OFF), path
    page.goto((site / "understand" / "proofs" / "threshold.html").as_uri())
    page.add_style_tag(content="code .pre { white-space: nowrap !important; }")
    assert page.evaluate(CUT_OFF)  # names of tests, as they were before
    page.goto((site / "understand" / "mechanisms.html").as_uri())
    pictures = "[...document.querySelectorAll('article img')]"
    assert page.evaluate(f"{pictures}.length") > 5
    assert page.evaluate(
        f"{pictures}.every(e => e.currentSrc.includes('-narrow') && e.naturalWidth > 300)"
    )
    page.close()


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


def test_pictures_have_narrow_variants_and_links() -> None:
    phone = importlib.import_module("phone")
    body = '<p><img alt="a" src="../_images/a.svg" /><img alt="b" src="../_images/b.png" /></p>'
    changed = phone.shown(body, {"a.svg"})
    assert changed.count('href="../_images/') == 2
    assert re.findall(r'media="(.*?)" srcset="(.*?)"', changed) == [
        ("(max-width: 600px)", "../_images/a-narrow.svg")
    ]
    found = phone.narrow(DOCS / "images")
    assert {f"{path.stem}.svg" for path in (DOCS / "images" / "explain").glob("*.svg")} == {
        each for name in found if name.endswith(".svg") for each in (name, found[name].name)
    }


def test_commands_and_prose_may_be_broken_between_words() -> None:
    broken = importlib.import_module("phone").broken

    def block(language: str, text: str) -> str:
        kind = f"highlight-{language} notranslate"
        return f'<div class="{kind}"><div class="highlight"><pre>{text}</pre>'

    option = '<span class="option">--by-hand</span>'
    assert broken(block("bash", "<i> </i>--by-hand 1")) == block("bash", f"<i> </i>{option} 1")
    assert broken(block("text", "--by-hand 1")) == block("text", "--by-hand 1")
    words = "a --by-hand " * 20
    assert broken(block("text", words)) == block("text long", words.replace("--by-hand", option))
    assert broken('<span class="pre">--by</span>') == '<span class="pre option">--by</span>'


def test_options_in_the_reference_are_written_as_they_are_typed() -> None:
    text = importlib.import_module("command_line").section("anonymize")
    assert "column of counts; needs `--label`" in text
    assert not re.search(r"(?<![`\w-])--[a-z]", re.sub("```.*?```", "", text, flags=re.DOTALL))


def test_excerpts_have_the_text_of_articles_by_section() -> None:
    text_of = importlib.import_module("excerpts").text_of
    page = (
        '<p>menu</p><article><section id="a"><h1>A &lt; B<a class="headerlink">#</a></h1>'
        '<script>x</script>one<br><p>two<section id="b">three</section></section></article>end'
    )
    assert text_of(page) == (
        '<section id="a">A &lt; Bonetwo<section id="b">three</section></section>'
    )
