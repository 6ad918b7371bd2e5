"""Lemmas that code and pages cite exist, and so do the tests and bugs that proofs name."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from mutants.catalogue import Mutant, load

ROOT = Path(__file__).parents[1]
PROOFS = sorted((ROOT / "docs" / "understand" / "proofs").glob("*.md"))
LEMMAS = {
    page.stem: {int(number) for number in re.findall(r"^## Lemma (\d+):", page.read_text(), re.M)}
    for page in PROOFS
}
CITING = [
    *(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")),
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("*.md"),
]
# "Lemma 3", "Lemmas 1 and 7", "Lemmas 4 to 6"; but not the "Lemma 3.1" of a paper.
CITATION = re.compile(
    r"\bLemmas?[\s#]+(?P<numbers>\d+(?:,?\s+(?:and|to)\s+\d+|,\s+\d+)*)(?![\d.]*\d)"
)
# A paper before it: "Manurangsi 2022, Theorem 6 and Lemma 10".
OF_A_PAPER = re.compile(r"\b(?:(?:19|20)\d\d[^.;:()]*|(?:Theorem|Lemma) [\d.]+ and\W*)$")
PAGE_BEFORE = re.compile(r"\b(\w+)(?:\.md[`)]*,?|,)\s+\(?\[?$")
PAGE_AFTER = re.compile(r"\s+of\s+`?(?:[\w/]*proofs/)?(\w+)\.md|[^\[\]]*\]\([^)\s]*?(\w+)\.md")
PAGE = re.compile(r"\b(\w+)(?:\.md\b|,\s+Lemma)")


def citations(text: str, page: str | None = None) -> Iterator[tuple[str | None, int]]:
    """Yield page and number of each lemma that a text cites.

    The page is the one beside the citation, otherwise `page`, the one that is read, or the last one
    named before; None if there is none. "Its Lemma 6" is of the last one named, too.
    """
    for found in CITATION.finditer(text):
        before = text[: found.start()]
        if OF_A_PAPER.search(before[-70:]):
            continue
        beside = PAGE_BEFORE.search(before[-60:])
        after = PAGE_AFTER.match(text, found.end())
        if beside is not None and beside[1] in LEMMAS:
            cited: str | None = beside[1]
        elif after is not None and (after[1] or after[2]) in LEMMAS:
            cited = after[1] or after[2]
        else:
            named = [name for name in PAGE.findall(before) if name in LEMMAS]
            last = named[-1] if named else None
            cited = last if re.search(r"\b[Ii]ts $", before) else page or last
        for first, end in re.findall(r"(\d+)(?:\s+to\s+(\d+))?", found["numbers"]):
            for number in range(int(first), int(end or first) + 1):
                yield cited, number


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        (
            "`docs/understand/proofs/noise.md`, Lemmas 1 to 3 and 5.",
            [("noise", n) for n in (1, 2, 3, 5)],
        ),
        (
            "Lemmas 2 and\n3 of docs/understand/proofs/noise.md: what is drawn",
            [("noise", 2), ("noise", 3)],
        ),
        ("`threshold.md`, Lemma 8; `noise.md`, Lemma 2", [("threshold", 8), ("noise", 2)]),
        ("(`docs/understand/proofs/noise.md`, Lemma 4)... (Lemma 5)", [("noise", 4), ("noise", 5)]),
        (
            "[Lemma 9](proofs/bounding.md) and [noise, Lemma\n4](n.md)",
            [("bounding", 9), ("noise", 4)],
        ),
        ("what each entry costs (ledger, Lemmas 1, 2)", [("ledger", 1), ("ledger", 2)]),
        ("(Manurangsi 2022, Theorem 6\n    and Lemma 10)", []),
        ("Rogers 2023, Lemma 3.1, asks for an event", []),
        ("a step: Lemma 4", [(None, 4)]),
    ],
)
def test_citations_are_found(text, cited) -> None:
    assert list(citations(text)) == cited


def test_lemmas_that_are_cited_exist() -> None:
    missing = []
    for path in CITING:
        own = path.stem if path in PROOFS else None
        for page, number in citations(path.read_text(), own):
            if path != Path(__file__) and number not in LEMMAS.get(page or "", ()):
                missing.append(f"{path.relative_to(ROOT)}: Lemma {number} of {page}")
    assert missing == []


@cache
def functions(file: Path) -> frozenset[str]:
    """Return the names of a file's tests."""
    return frozenset(re.findall(r"^(?:    )?def (test_\w+)", file.read_text(), re.M))


def named_tests(text: str) -> tuple[dict[str, list[Path]], set[str]]:
    """Return the test files that a text names, with their paths, and the names of tests."""
    every = sorted((ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)(?:::\w+)?`", text))
    files = {
        name: [path for path in every if f"/{path.relative_to(ROOT)}".endswith(f"/{name}")]
        for name in named
        if "test" in name
    }
    return files, set(re.findall(r"(?:`|::)(test_\w+)`", text))


@pytest.mark.parametrize("page", PROOFS, ids=lambda path: path.name)
def test_tests_that_a_proof_names_stand_in_a_file_it_names(page: Path) -> None:
    text = page.read_text()
    assert not re.findall(r"\btest_\w*\*", text), "a pattern names no test"
    files, names = named_tests(text)
    assert [name for name, paths in files.items() if not paths] == []
    there = set().union(*(functions(path) for paths in files.values() for path in paths))
    assert sorted(names - there) == []
    for name, test in re.findall(r"`([\w/]+\.py)::(test_\w+)`", text):
        assert any(test in functions(path) for path in files[name]), (name, test)


MUTANTS = {mutant.name: mutant for mutant in load()}
# What stands in backticks and has hyphens, but is no option or module: the name of a mutant.
MUTANT_NAME = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`")


def sections(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the heading of each section of a page, and its text."""
    parts = re.split(r"^## (.*)$", page.read_text(), flags=re.M)
    yield from zip(["", *parts[1::2]], [parts[0], *parts[2::2]], strict=True)


def problem_of(mutant: Mutant | None, page: str, heading: str, tests: set[str]) -> str:
    """Say why a section may not name a mutant, if so; "" otherwise."""
    if mutant is None:
        return "there is none"
    own, _, lemma = mutant.lemma.partition(", ")
    if own != page or (heading.startswith("Lemma") and not heading.startswith(f"{lemma}:")):
        return f"it is of {mutant.lemma}"
    caught = {test.partition("::")[2].partition("[")[0] for test in mutant.tests}
    return "" if caught & tests else f"the page does not name the test that catches it: {caught}"


def test_a_wrong_name_of_a_planted_bug_is_noticed() -> None:
    mutant = MUTANTS["ledger-delta-of-entry-dropped"]  # of Lemma 1, by test_what_a_guarantee_costs
    tests, heading = {"test_what_a_guarantee_costs"}, "Lemma 1: the cost of an entry"
    assert problem_of(mutant, "ledger", heading, tests) == ""
    assert problem_of(mutant, "ledger", "The costs together", tests) == ""
    assert "is of ledger" in problem_of(mutant, "ledger", "Lemma 2: the filter for rho", tests)
    assert "is of ledger" in problem_of(mutant, "noise", "Lemma 1: a table of rectangles", tests)
    assert "test_what" in problem_of(mutant, "ledger", heading, {"test_another"})
    assert "none" in problem_of(None, "ledger", heading, tests)


@pytest.mark.parametrize("page", PROOFS, ids=lambda path: path.name)
@pytest.mark.quick(every=3)
def test_planted_bugs_that_a_proof_names_exist(page: Path) -> None:
    """Each is a mutant of that lemma, or one that a test of a name plants by itself."""
    _, tests = named_tests(page.read_text())
    wrong = []
    for heading, text in sections(page):
        for name in MUTANT_NAME.findall(text):
            if problem := problem_of(MUTANTS.get(name), page.stem, heading, tests):
                wrong.append(f"{heading}: {name}: {problem}")
        for paragraph in text.split("\n\n"):
            for claim in re.findall(r"(?:\b[Pp]lanted\b|\bcaught:)(?:[^.]|\.(?!\s))*", paragraph):
                if not (MUTANT_NAME.search(claim) or re.search(r"`(?:\S+::)?test_\w+`", claim)):
                    wrong.append(f"{heading}: nothing shows {claim!r}")
    assert wrong == []
