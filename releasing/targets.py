"""The targets of the Makefile: each works in a fresh clone, with what it installs by itself."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from releasing.running import ROOT, CheckError, run

FEW = "TESTS=tests/noise/test_enclosures.py"
SHORTENED: Mapping[str, tuple[str, ...]] = {
    "demo": (),
    "test": (FEW,),
    "coverage": (FEW,),
    "check": (),
    "format": (),
    "docs": (),
    "verify": ("TESTS=tests/noise/test_independence.py tests/test_site.py",),
    "proofs": (),
    "audit": ("TESTS=tests/streams/test_spectrum.py", "AUDITED=RankSplit", "AUDIT_SECONDS=10"),
    "mutants": ("MUTANTS=noise-squares-rounded-inwards",),
    "mutants-random": ("CHANGES=--list",),
    "bench": ("BENCH_OPTIONS=--only start",),
    "bench-tables": ("TABLES=pages",),
    "size": (),
    "base": (),
    "reviewers-kit": (),
    "architecture": (),
    "test-oldest": (FEW,),
    "test-newest": (FEW,),
    "constraints": (),
    "clean": (),
}
"""Each target, with the variables that leave less to do. It installs all that it always needs."""
LEFT_OUT = {
    "chromium": "`verify` runs it",
    "office": "`verify` runs it",
    "test-container": "it needs root and a control group",
    "release-check": "it runs these checks",
}


def targets(makefile: Path = ROOT / "Makefile") -> list[str]:
    """Return the targets that are no files."""
    lines = re.findall(r"^\.PHONY: (.*)", makefile.read_text(), re.MULTILINE)
    return [target for line in lines for target in line.split()]


def check_all_are_known(makefile: Path = ROOT / "Makefile") -> None:
    """Each target is run here, or it says why not."""
    known = {*SHORTENED, *LEFT_OUT}
    if strange := sorted(known ^ set(targets(makefile))):
        raise CheckError(f"releasing/targets.py and the Makefile differ in {', '.join(strange)}")


def check_targets(
    folder: Path,
    names: Sequence[str] = (),
    root: Path = ROOT,
    say: Callable[[str], None] = print,
) -> str:
    """Run targets (default: all), each in a clone of its own, which has no environment yet."""
    check_all_are_known(root / "Makefile")
    chosen = names or list(SHORTENED)
    for name in chosen:
        clone = folder / name
        run("git", "clone", "--quiet", root, clone, cwd=root)
        run("make", name, *SHORTENED[name], cwd=clone)
        shutil.rmtree(clone)
        say(f"  make {name}")
    return f"{len(chosen)} of the Makefile, each in a fresh clone"
