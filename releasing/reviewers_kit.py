"""One archive for somebody who reviews the trusted base: `make reviewers-kit`.

The archive has all files of a commit, so that its tests and planted bugs can be run, and on top
`BASE.txt`: the files of the trusted base in the order of reading, with their lines and planted
bugs, and a path of two days through them. Two runs at one commit write the same bytes.
"""

import re
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

from benchmarks.base import name_module, read_parts
from mutants.catalogue import load

from releasing.artifacts import hash_of
from releasing.running import ROOT, run

PLAN = ROOT / "docs/project/reviewing.md"
_DATE = (1980, 1, 1, 0, 0, 0)  # of what no commit has


def read_plan() -> dict[str, list[str]]:
    """Return the modules that the path of two days reads, by when."""
    rows = re.findall(r"^\| (day .*?) \| (.*?) \|", PLAN.read_text(), re.MULTILINE)
    return {when: re.findall(r"`(.*?)`", files) for when, files in rows}


def describe_base(commit: str) -> str:
    """Return the front page of the kit."""
    bugs: dict[str, list[str]] = defaultdict(list)
    for mutant in load():
        bugs[mutant.module].append(mutant.name)
    lines = [
        f"The trusted base of dphist at commit {commit}, in the order of reading.",
        "How to review: docs/project/reviewing.md. Proofs: docs/understand/proofs/.",
        "Below each file are the names of its planted bugs; `make mutants MUTANTS=NAME` runs one.",
        "",
        "Two days:",
        *(f"  {when}: {', '.join(files)}" for when, files in read_plan().items()),
    ]
    for part in read_parts():
        lines += ["", f"{part.name}: {part.lines} lines"]
        for file in part.files:
            lines += [f"  src/dphist/{file}", *(f"      {bug}" for bug in bugs[name_module(file)])]
    return "\n".join([*lines, ""])


def write_kit(into: Path) -> Path:
    """Write `dphist-reviewers-kit-COMMIT.zip` into a folder, and return its path."""
    commit = run("git", "rev-parse", "--short=12", "HEAD").strip()
    name = f"dphist-reviewers-kit-{commit}"
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as folder:
        made = Path(folder, f"{name}.zip")
        run("git", "archive", f"--prefix={name}/", f"--output={made}", "HEAD")
        with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo(f"{name}/BASE.txt", _DATE), describe_base(commit))
        return made.replace(into / made.name)


if __name__ == "__main__":
    kit = write_kit(ROOT / "dist")
    print(f"{kit.relative_to(ROOT)}, SHA-256 {hash_of(kit)}")
