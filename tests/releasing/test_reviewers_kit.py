"""What an outside reviewer gets: the base, proofs and planted bugs of a commit, and a plan."""

import zipfile
from pathlib import Path

import pytest
from benchmarks.base import read_parts
from benchmarks.size import SOURCE, count_lines
from releasing.running import ROOT

from releasing import reviewers_kit


def base_files() -> set[str]:
    return {str(file) for part in read_parts() for file in part.files}


def test_the_path_of_two_days_reads_files_of_the_base() -> None:
    """And no more than can be read in four sittings of three hours and a half."""
    plan = reviewers_kit.read_plan()
    assert len(plan) == 4
    files = [file for sitting in plan.values() for file in sitting]
    assert set(files) <= base_files()
    assert len(files) == len(set(files))
    for sitting in plan.values():
        assert sum(count_lines(SOURCE / file) for file in sitting) <= 3.5 * 600


def test_the_front_page_has_the_base_and_its_planted_bugs() -> None:
    page = reviewers_kit.describe_base("abc")
    for file in base_files():
        assert f"  src/dphist/{file}\n" in page
    assert "\n      tables-rho-rounded-up\n" in page


def test_a_kit_has_the_commit_whole_and_is_written_twice_alike(tmp_path: Path) -> None:
    first, second = (reviewers_kit.write_kit(tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
    for wanted in ("BASE.txt", "docs/project/reviewing.md", "docs/understand/proofs/noise.md"):
        assert wanted in names
    assert {f"src/dphist/{file}" for file in base_files()} <= names
    assert any(name.startswith("mutants/") for name in names)
    assert [path.name for path in (tmp_path / "a").iterdir()] == [first.name]


@pytest.mark.parametrize("page", ["first-issues", "reviewing", "governance"])
def test_files_that_pages_for_the_community_name_exist(page: str) -> None:
    text = (ROOT / f"docs/project/{page}.md").read_text()
    for named in set(text.split("`")[1::2]):
        if "/" in named and " " not in named:
            assert (ROOT / named).exists() or (SOURCE / named).exists(), named
