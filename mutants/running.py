"""Applying mutants to copies of the repository, and running the tests that must fail."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mutants.catalogue import ROOT, Mutant
from mutants.outcome import VARIABLE

Verdict = Literal["caught", "missed", "broken"]

_LONGEST = 900  # seconds; a mutant that takes longer never ends
_COPIED = ("src", "tests", "mutants", "pyproject.toml")
# A mutant that fails with one of these does not run; so does one that fails with one of the others
# in a line of its own module.
_NEVER_MEANT = {"SyntaxError", "IndentationError", "ImportError", "ModuleNotFoundError"}
_NEVER_MEANT |= {"NameError", "UnboundLocalError"}
_HARDLY_MEANT = {"AttributeError", "TypeError"}


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant.

    Attributes
    ----------
    verdict : "caught" if a test failed, "missed" if all passed, "broken" if the mutant did not run.
    seconds : how long its tests took.
    by : the test that failed first, and with what; or what is broken.
    """

    mutant: Mutant
    verdict: Verdict
    seconds: float
    by: str


def copy_repository(target: Path, root: Path = ROOT) -> Path:
    """Copy what tests need to a new folder: code and tests as files, all else as links."""
    target.mkdir(parents=True)
    for path in root.iterdir():
        if path.name in _COPIED:
            if path.is_dir():
                # Compiled files too, with the times they were made from: they save seconds a run.
                shutil.copytree(path, target / path.name)
            else:
                shutil.copy2(path, target / path.name)
        elif not path.name.startswith("."):
            (target / path.name).symlink_to(path.resolve())
    return target


def pytest_in(
    copy: Path, tests: Iterable[str], outcome: Path, *, long: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run tests on the code of a copy; without `long` those of `make test` alone."""
    paths = [str(copy / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "CI": "true",  # Hypothesis then tries the same examples each time, and has no deadline
        VARIABLE: str(outcome),
    }
    options = ["-x", "-q", "-p", "mutants.outcome", "-p", "no:cacheprovider"]
    options += ["-m", "not audit" if long else "not verify and not audit"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )


def run_unmutated(mutants: list[Mutant], base: Path, jobs: int) -> list[str]:
    """Run all tests of the mutants on the code as it is; return what went wrong."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    files = sorted({test.split("::")[0] for test in tests})
    parts = [[t for t in tests if t.split("::")[0] in files[job::jobs]] for job in range(jobs)]

    def run(job: int) -> str:
        outcome = base.with_name(f"unmutated-{job}.json")
        done = pytest_in(base, parts[job], outcome)
        return "" if done.returncode == 0 else "\n".join(done.stdout.splitlines()[-40:])

    with ThreadPoolExecutor(jobs) as pool:
        return list(filter(None, pool.map(run, [job for job in range(jobs) if parts[job]])))


def run_mutants(mutants: list[Mutant], base: Path, jobs: int) -> Iterator[Result]:
    """Run each mutant in a copy of its own, `jobs` at a time; yield results as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        started = [pool.submit(run_mutant, mutant, base) for mutant in mutants]
        try:
            for done in as_completed(started):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run_mutant(mutant: Mutant, base: Path) -> Result:
    """Apply a mutant to a copy of `base`, and run its tests there."""
    copy, outcome = base.with_name(mutant.name), base.with_name(f"{mutant.name}.json")
    # Links take a tenth of the time of copies. What is changed is a file of its own.
    shutil.copytree(base, copy, symlinks=True, copy_function=os.link)
    start = time.monotonic()
    try:
        file, changed = mutant.file(copy), mutant.applied(copy)
        file.unlink()
        file.write_text(changed)
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()
        try:
            status = pytest_in(copy, mutant.tests, outcome, long=mutant.long).returncode
        except subprocess.TimeoutExpired:
            return Result(mutant, "broken", time.monotonic() - start, "its tests do not end")
        verdict, by = judge(mutant, copy, status, outcome)
        return Result(mutant, verdict, time.monotonic() - start, by)
    finally:
        shutil.rmtree(copy)


def judge(mutant: Mutant, copy: Path, status: int, outcome: Path) -> tuple[Verdict, str]:
    """Say what became of a mutant, from the exit status of pytest and what the plugin wrote."""
    if status == 0:
        return "missed", "all tests passed"
    if status != 1 or not outcome.exists():
        return "broken", f"pytest ended with status {status} before a test failed"
    found = json.loads(outcome.read_text())
    if not found["library"].startswith(str(copy)):
        return "broken", "the tests ran on another copy of the library"
    own = Path(found["raised_in"]) == mutant.file(copy)
    if found["error"] in _NEVER_MEANT or (own and found["error"] in _HARDLY_MEANT):
        return "broken", f"{found['error']} in {found['test']}"
    return "caught", f"{found['test']} ({found['error']})"
