"""What the files of a checkout state of the version: number, day, changelog, audit."""

import re
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path

from releasing.running import ROOT, CheckError, run

AUDIT_DAYS = 30
"""How old the audit of a released version may be."""


def version(root: Path = ROOT) -> str:
    """Return the version of `pyproject.toml`."""
    stated: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    return stated


def check_versions(root: Path = ROOT) -> str:
    """The version is the same everywhere."""
    number = version(root)
    places = {
        "CITATION.cff": rf"^version: {re.escape(number)}$",
        "docs/reference/references.md": rf"version = {{{re.escape(number)}}}",
        "CHANGELOG.md": rf"^## {re.escape(number)}\b",
    }
    for name, pattern in places.items():
        if not re.search(pattern, (root / name).read_text(), re.MULTILINE):
            raise CheckError(f"{name} does not state version {number} of pyproject.toml")
    return number


def check_changelog(root: Path = ROOT) -> str:
    """The first entry of the changelog is of this version, and has a day."""
    headings = re.findall(r"^## (.*)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = re.fullmatch(rf"{re.escape(version(root))} \((\d{{4}}-\d\d-\d\d)\)", headings[0])
    if found is None:
        raise CheckError(
            f"CHANGELOG.md begins with {headings[0]!r}: give it version and day, "
            f"such as {version(root)} ({datetime.now(UTC).date()})"
        )
    return found[1]


def check_audit(root: Path = ROOT) -> str:
    """The audit in the documentation has a day, of the last month before the release."""
    found = re.search(
        r"^Version (\S+), (\d{4}-\d\d-\d\d)",
        (root / "docs/guides/audit.md").read_text(),
        re.MULTILINE,
    )
    if found is None:
        raise CheckError("docs/guides/audit.md states no version and day: make audit")
    day = check_changelog(root)
    age = (date.fromisoformat(day) - date.fromisoformat(found[2])).days
    if age < 0:
        raise CheckError(
            f"the audit of {found[2]} is later than the changelog's {day}: give the changelog the "
            "day of the release"
        )
    if age > AUDIT_DAYS:
        raise CheckError(
            f"the audit of {found[2]} is not of the last {AUDIT_DAYS} days: make audit"
        )
    return f"{found[2]}, by version {found[1]}"


def check_committed(root: Path = ROOT) -> str:
    """All is committed: what is built is what the history has."""
    if changed := run("git", "status", "--porcelain", cwd=root).strip():
        raise CheckError(f"not committed:\n{changed}")
    return run("git", "rev-parse", "HEAD", cwd=root).strip()
