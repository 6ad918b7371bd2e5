"""Every target of the Makefile is run in a clone; here by the targets of a small one."""

from pathlib import Path

import pytest
from releasing.running import CheckError, run

from releasing import targets

MAKEFILE = """\
.PHONY: short whole
short:
\ttest "$(TESTS)" = few
\ttest -z "$(OF_THE_CALLER)"
whole: ; test -e new.py
.PHONY: other
other:
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a file that is not committed."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "Makefile").write_text(MAKEFILE)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.invalid")
    run(*git, "init", "-q", cwd=root)
    run(*git, "add", "Makefile", cwd=root)
    run(*git, "commit", "-q", "-m", "first", cwd=root)
    (root / "new.py").write_text("")
    monkeypatch.setattr(targets, "SHORTENED", {"short": ("TESTS=few",), "whole": ()})
    monkeypatch.setattr(targets, "LEFT_OUT", {"other": "it does nothing"})
    return root


def test_every_target_is_run_or_says_why_not() -> None:
    targets.check_all_are_known()
    assert all(reason for reason in targets.LEFT_OUT.values())
    assert not set(targets.SHORTENED) & set(targets.LEFT_OUT)


@pytest.mark.parametrize("mark", ["audit", "verify"])
def test_a_target_is_shortened_to_files_that_have_tests_of_its_mark(mark: str) -> None:
    """pytest fails where it finds no test, and so would a release."""
    [files] = [word for word in targets.SHORTENED[mark] if word.startswith("TESTS=")]
    texts = [(targets.ROOT / name).read_text() for name in files.removeprefix("TESTS=").split()]
    assert any(f"pytest.mark.{mark}\n" in text for text in texts)


def test_a_target_that_nobody_runs_is_found(checkout: Path) -> None:
    targets.check_all_are_known(checkout / "Makefile")
    (checkout / "Makefile").write_text(MAKEFILE + ".PHONY: unknown\n")
    with pytest.raises(CheckError, match=r"differ in unknown"):
        targets.check_all_are_known(checkout / "Makefile")


def test_a_target_runs_in_a_clone_with_its_own_variables(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", " -- OF_THE_CALLER=1")
    said: list[str] = []
    assert targets.check_targets(tmp_path / "clones", ["short"], checkout, said.append)
    assert said == ["  make short"]
    assert list((tmp_path / "clones").iterdir()) == []


def test_what_is_not_committed_is_missed(checkout: Path, tmp_path: Path) -> None:
    run("make", "whole", cwd=checkout)
    with pytest.raises(CheckError, match="make whole ended with 2"):
        targets.check_targets(tmp_path / "clones", ["whole"], checkout)
