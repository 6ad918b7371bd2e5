"""What the files state of the version agrees, and declared bounds are those that are tested."""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from releasing.__main__ import main
from releasing.running import ROOT, CheckError, run

from releasing import stated

FILES = (
    "pyproject.toml",
    "CITATION.cff",
    "CHANGELOG.md",
    "docs/reference/references.md",
    "docs/guides/audit.md",
)


@pytest.fixture
def copy(tmp_path) -> Path:
    """The files that state a version."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def _edited(path: Path, pattern: str, by: str) -> None:
    text, times = re.subn(pattern, by, path.read_text(), count=1, flags=re.MULTILINE)
    assert times == 1
    path.write_text(text)


def test_the_version_is_the_same_everywhere() -> None:
    assert stated.check_versions() == stated.version()


@pytest.mark.parametrize(
    ("name", "pattern", "by"),
    [
        ("pyproject.toml", r'^version = ".*"', 'version = "9.9.9"'),
        ("CITATION.cff", "^version: .*", "version: 9.9.9"),
        ("docs/reference/references.md", r"version = \{.*\}", "version = {9.9.9}"),
        ("CHANGELOG.md", r"^## [\d.]+", "## 9.9.9"),
    ],
)
def test_another_version_in_one_place_is_found(name, pattern, by, copy) -> None:
    assert stated.check_versions(copy)
    _edited(copy / name, pattern, by)
    with pytest.raises(CheckError, match="does not state version"):
        stated.check_versions(copy)


def test_a_changelog_without_a_day_is_found(copy) -> None:
    _edited(copy / "CHANGELOG.md", r"^## .*", f"## {stated.version()} (2026-12-01)")
    assert stated.check_changelog(copy) == "2026-12-01"
    _edited(copy / "CHANGELOG.md", r"^## .*", f"## {stated.version()} (unreleased)")
    with pytest.raises(CheckError, match="give it version and day"):
        stated.check_changelog(copy)


@pytest.mark.parametrize(("day", "good"), [("2026-11-01", True), ("2026-10-01", False)])
def test_an_old_audit_is_found(day, good, copy) -> None:
    _edited(copy / "CHANGELOG.md", r"^## .*", f"## {stated.version()} (2026-12-01)")
    _edited(
        copy / "docs/guides/audit.md", r"^Version \S+, \d{4}-\d\d-\d\d", f"Version 0.2.0, {day}"
    )
    if good:
        assert day in stated.check_audit(copy)
    else:
        with pytest.raises(CheckError, match="make audit"):
            stated.check_audit(copy)


def test_a_release_dated_before_its_audit_is_found(copy) -> None:
    _edited(copy / "CHANGELOG.md", r"^## .*", f"## {stated.version()} (2026-12-01)")
    _edited(
        copy / "docs/guides/audit.md", r"^Version \S+, \d{4}-\d\d-\d\d", "Version 0.2.0, 2026-12-02"
    )
    with pytest.raises(CheckError, match="later than the changelog's 2026-12-01"):
        stated.check_audit(copy)


def test_the_oldest_versions_tested_are_those_declared() -> None:
    """A bound that somebody lowers or raises has to be tested again: `make constraints`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ("spark", "postgres", "sign", "accounting", "opendp", "disclose", "dev")
    declared = project["dependencies"] + [
        each for extra in extras for each in project["optional-dependencies"][extra]
    ]
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints/oldest.txt").read_text().splitlines()
        if "==" in line
    )
    for each in declared:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(?:>=|==)([\d.]+).*", each).groups()
        pin = pins[name.lower()]
        # The first published version that satisfies the bound: often a zero follows, and
        # a first version was sometimes withdrawn.
        assert _numbers(pin)[: len(_numbers(bound))] == _numbers(bound), each


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.rstrip(".").split(".")]


def test_every_python_of_the_classifiers_is_tested_by_ci() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    wanted = {c.split(" :: ")[-1] for c in classifiers if re.search(r":: 3\.\d+$", c)}
    assert len(wanted) == 4
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == wanted


def test_what_is_not_committed_is_found(tmp_path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.invalid")
    run(*git, "init", "-q", cwd=tmp_path)
    run(*git, "commit", "-q", "--allow-empty", "-m", "first", cwd=tmp_path)
    assert len(stated.check_committed(tmp_path)) == 40
    (tmp_path / "new.py").write_text("")
    with pytest.raises(CheckError, match=r"not committed:\n\?\? new\.py"):
        stated.check_committed(tmp_path)


def test_the_command_ends_with_1_at_the_first_step_that_fails(monkeypatch, capsys) -> None:
    def fails() -> str:
        raise CheckError("planted")

    monkeypatch.setattr(sys, "argv", ["releasing"])
    monkeypatch.setattr(stated, "check_changelog", fails)
    assert main() == 1
    printed = capsys.readouterr()
    assert printed.out == f"version: {stated.version()}\n"
    assert printed.err == "FAILED: planted\n"
