"""README and docs are true: their examples run, their links lead somewhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import dphist

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
WITH_SHELL = [page for page in PAGES if blocks(page, "bash")]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder like the repository's root, where examples may write."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_examples() -> None:
    assert ROOT / "README.md" in WITH_PYTHON
    assert ROOT / "README.md" in WITH_SHELL


@pytest.mark.quick("[README.md]", "[labels.md]", "[ranges.md]", "[streams.md]")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda p: p.name)
def test_python_examples_run(page, folder) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own documentation


@pytest.mark.quick("[ranges.md]")  # that of the README is `make demo`
@pytest.mark.parametrize("page", WITH_SHELL, ids=lambda p: p.name)
def test_shell_examples_run(page, folder) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in blocks(page, "bash"):
        subprocess.run(
            ["bash", "-euc", block],
            check=True,
            capture_output=True,
            env={**os.environ, "PATH": path},
        )


def test_readme_example_is_short() -> None:
    assert len(blocks(ROOT / "README.md", "python")[0].strip().splitlines()) <= 10


def test_readme_prints_what_it_shows(folder, capsys) -> None:
    """The noise is random: the output agrees up to its numbers."""
    exec(compile(blocks(ROOT / "README.md", "python")[0], "README.md", "exec"), {})  # noqa: S102
    printed, shown = (
        re.sub(r"[\d.]+", "#", text)
        for text in (capsys.readouterr().out, blocks(ROOT / "README.md", "text")[0])
    )
    assert printed == shown


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "least"),
    [("ledger.md", 14), ("notebooks.md", 6), ("disclosure.md", 3), ("planning.md", 3)],
)
def test_guides_print_what_they_show(name, least, folder, capsys) -> None:
    """Each python block of the guide that a text block follows prints exactly that."""
    names: dict[str, object] = {}
    shown = 0
    pattern = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?"
    page = (ROOT / "docs" / name).read_text()
    for code, text in re.findall(pattern, page, re.DOTALL | re.MULTILINE):
        exec(compile(code, name, "exec"), names)  # noqa: S102 - our own documentation
        printed = capsys.readouterr().out
        if text:
            shown += 1
            assert _stripped(printed) == _stripped(text)
        else:
            assert not printed
    assert shown == len(blocks(ROOT / "docs" / name, "text")) >= least


def test_the_section_on_discovering_prints_what_it_shows(folder, capsys) -> None:
    """Exactly, but for the number of labels, which is random."""
    page = (ROOT / "docs" / "labels.md").read_text()
    section = page.split("### DiscoverLabels\n")[1].split("\n### ")[0]
    code, shown = re.findall(r"^```(?:python|text)\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    exec(compile(code, "labels.md", "exec"), {"dh": dphist})  # noqa: S102
    printed = capsys.readouterr().out
    number = r"\d+(?= rows)"
    assert re.sub(number, "#", printed) == re.sub(number, "#", shown)


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_readme_is_short_and_in_order() -> None:
    """A newcomer meets install, an example, kinds, guarantee and limits, in that order."""
    text = (ROOT / "README.md").read_text()
    assert 600 <= len(text.split()) <= 750
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert headings == [
        "Install",
        "A first example",
        "The four kinds",
        "The guarantee in plain words",
        "Limits",
        "More",
    ]
    install, _, kinds, _, limits, _ = re.split(r"^## .*", text, flags=re.MULTILINE)[1:]
    assert "pip install dphist" in install
    for kind in ("anonymized", "ranges", "labels", "streams"):
        assert f"| [{kind}](docs/{kind}.md) |" in kinds
    assert len(re.findall("^- ", limits, re.MULTILINE)) == 5


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_anchors_lead_to_headings(page) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), (target, anchor)


@cache
def every_test() -> str:
    return "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_tests_that_are_named_exist(page) -> None:
    """A proof page names the test that guards each lemma."""
    for name in re.findall(r"`(tests/[\w/]+\.py)", page.read_text()):
        assert (ROOT / name).exists(), name
    for function in re.findall(r"(?:`|::)(test_\w+)\*?`", page.read_text()):
        assert f"def {function}" in every_test(), function


@pytest.mark.verify
def test_make_demo_writes_what_it_says() -> None:
    for _ in range(2):  # a second time, too
        done = subprocess.run(
            ["make", "demo"], cwd=ROOT, check=True, capture_output=True, text=True
        )
    for name in ("release.json", "release.csv", "report.html"):
        assert (ROOT / "demo" / name).stat().st_size > 1000
        assert f"demo/{name}" in done.stdout
    release = dphist.Release.load(ROOT / "demo" / "release.json")
    assert release.guarantee == dphist.PureDP(1)
    assert json.loads((ROOT / "demo" / "release.json").read_text())["kind"]


def test_public_names_are_those_of_the_design() -> None:
    assert sorted(dphist.__all__) == sorted(set(dphist.__all__))
    for name in dphist.__all__:
        assert getattr(dphist, name).__doc__
    for name in ("Profile", "SortedCounts", "RankSplit", "Release", "PureDP", "ZCDP", "ApproxDP"):
        assert name in dphist.__all__
    for name in ("PrivHist", "PartitionSampler", "CumulativeCounts", "AdaptiveScan"):
        assert name in dphist.__all__
    for name in ("ApproxZCDP", "compose", "anonymize", "plot", "write_report", "noise"):
        assert name in dphist.__all__
