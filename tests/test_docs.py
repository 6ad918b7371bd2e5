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
from tests.support.printed import SEEDS, differences, languages, printed, shown, shows_commands

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [
    ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
QUICK = ("README.md", "labels.md", "ranges.md", "streams.md")  # by `make test`, too
SHOWING = [page for page in PAGES if any(shown(page))]
WITH_SHELL = [page for page in PAGES if blocks(page, "bash")]
QUICK_SHELL = ("ranges.md",)  # that of the README is `make demo`


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder like the repository's root, where examples may write."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_examples() -> None:
    assert ROOT / "README.md" in WITH_PYTHON
    assert ROOT / "README.md" in WITH_SHELL


@pytest.mark.quick(*(f"[{name}]" for name in QUICK), every=4)
@pytest.mark.parametrize(
    "page",
    [page for page in WITH_PYTHON if page not in SHOWING or page.name in QUICK],
    ids=lambda p: p.name,
)
def test_python_examples_run(page, folder) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own documentation


@pytest.mark.quick(*(f"[{name}]" for name in QUICK_SHELL))
@pytest.mark.parametrize(
    "page",
    [page for page in WITH_SHELL if not shows_commands(page) or page.name in QUICK_SHELL],
    ids=lambda p: p.name,
)
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


# What takes time into account, or is a choice among equals, varies in ways that a second run with
# other noise need not show: each page with patterns of that, and what stands for them.
_DURATION = (r"(?<=\d) (?:µs|ms|s)\b", " s")
VARIES = {
    "audit.md": (_DURATION, (r"Event .*", "Event"), (r"on the (?:first|second)", "on the one")),
    "compare.md": (_DURATION,),
    "own-mechanism.md": (_DURATION,),
}
# These take long and run once: the words of their output are compared, and where numbers are.
ONCE = ("anonymized.md", "properties.md", "scale.md", *VARIES)
# None of their output is random: it is compared exactly.
EXACT = ("ledger.md", "notebooks.md", "disclosure.md", "planning.md")
# These run in a process of their own: a session of Spark would be that of other tests, too.
APART = ("scale.md",)


def _printed_apart(page: Path, seed: int) -> list[str]:
    """Return what `printed` does, of a run in a process of its own in the current folder."""
    code = (
        "import json, sys; from pathlib import Path; from tests.support.printed import printed;"
        "print(json.dumps(printed(Path(sys.argv[1]), int(sys.argv[2]))))"
    )
    given = os.environ.get("PYTHONPATH")
    done = subprocess.run(
        [sys.executable, "-c", code, page, str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *([given] if given else [])])},
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def _fixed(page: Path, text: str) -> str:
    """Return the text of a page, or of a run, without what varies in it."""
    for pattern, fixed in VARIES.get(page.name, ()):
        text = re.sub(pattern, fixed, text)
    return text


@pytest.mark.quick("[five-minutes.md]")
@pytest.mark.parametrize("page", SHOWING, ids=lambda p: p.name)
def test_examples_print_what_is_shown(page, folder, tmp_path_factory, monkeypatch) -> None:
    """Exactly, but for what is random: see `tests/support/printed.py`."""
    text = [_fixed(page, each) for each in shown(page)]
    assert sum(map(bool, text)) == len(blocks(page, "text")), "a text block follows no example"
    if page.name in EXACT:
        found = []
        for language, each, output in zip(languages(page), text, printed(page), strict=True):
            if each and language == "bash":  # may leave lines out
                found += differences(each, output)
            elif each and _stripped(each) != _stripped(output):
                found.append(f"the page shows {each!r}, but {output!r} is printed")
        assert not found
        return
    runs: list[list[str]] = []
    for seed in SEEDS[:1] if page.name in ONCE else SEEDS:
        place = tmp_path_factory.mktemp("run")
        shutil.copytree(ROOT / "data", place / "data")
        monkeypatch.chdir(place)
        run = _printed_apart if page.name in APART else printed
        runs.append([_fixed(page, each) for each in run(page, seed)])
        if page.name in ONCE:  # as if each number were random
            runs.append([re.sub(r"\d+", r"\g<0>7", each) for each in runs[0]])
        found = [
            problem
            for each, *outputs in zip(text, *runs, strict=True)
            if each
            for problem in differences(each, *outputs)
        ]
        if len(runs) > 1 and not found:
            break
    assert not found


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("16 labels, epsilon 1", False),
        ("16 labels, epsilon 2", True),
        ("16 words, epsilon 1", True),
        ("16 labels, epsilon 1\nmore", True),
        ("labels, epsilon 1", True),
        ("16 labels, epsilon one", True),
    ],
)
def test_what_is_not_random_is_compared(text, wrong) -> None:
    assert bool(list(differences(text, "12  labels, epsilon 1 ", "15 labels, epsilon 1"))) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("first\n...\nlast", False),
        ("first\n...", False),
        ("...\nlast", False),
        ("first\n...\nlast but one\nlast", True),  # nothing is left out
        ("last\n...\nlast", True),
        ("first\n...\nlast but one", True),
    ],
)
def test_lines_may_be_left_out(text, wrong) -> None:
    printed = "first\nlast but one\nlast\n"
    assert bool(list(differences(text, printed, printed))) == wrong


@pytest.mark.verify
def test_commands_are_seeded_and_say_no_place_or_time(tmp_path, monkeypatch) -> None:
    """Two runs with a seed print the same; another seed, or none, draws other noise."""
    page, ledger = tmp_path / "page.md", "dphist ledger create x.ledger --epsilon 1 --unit a"
    code = "import os; print(int.from_bytes(os.urandom(8)))"
    page.write_text(f"```bash\npython -c '{code}'\n{ledger}; date -u +%F\n```\n\n```text\nx\n```\n")
    outputs = []
    for run, seed in enumerate((1, 1, 2, None)):
        (place := tmp_path / str(run)).mkdir()
        monkeypatch.chdir(place)
        outputs.append(printed(page, seed)[0].split("\n", 1))
    (first, text), again, other, free = outputs
    assert again == [first, text]
    assert len({first, other[0], free[0]}) == 3
    assert text.startswith("Made the ledger 'x' at /home/ana/x.ledger.\n")
    assert text.endswith("\n2026-11-30\n")


def test_the_section_on_discovering_prints_what_it_shows(folder, capsys) -> None:
    """Exactly, but for the number of labels, which is random."""
    page = (ROOT / "docs" / "guides" / "labels.md").read_text()
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
        "The seven kinds",
        "The guarantee in plain words",
        "Limits",
        "More",
    ]
    install, _, kinds, _, limits, _ = re.split(r"^## .*", text, flags=re.MULTILINE)[1:]
    assert all(command in install for command in ("make demo", "make test", "pip install ."))
    for kind in ("anonymized", "ranges", "labels", "tables", "groups", "streams"):
        assert f"| [{kind}](docs/guides/{kind}.md) |" in kinds
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
@pytest.mark.quick(every=4)
def test_tests_that_are_named_exist(page) -> None:
    """A proof page names the test that guards each lemma."""
    for name in re.findall(r"`(tests/[\w/]+\.py)", page.read_text()):
        assert (ROOT / name).exists(), name
    for function in re.findall(r"(?:`|::)(test_\w+)`", page.read_text()):
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
