"""Which tests run which line, found by running all tests of the trusted modules once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import coverage
from mutants.at_random import tests_by_line
from mutants.running import copy_repository

_SETTINGS = """\
[run]
source = dphist
parallel = true
patch = subprocess
data_file = {data}
"""
_ROOMS: tuple[str, ...] = (
    "noise",
    "guarantees",
    "data",
    "labels",
    "anonymized",
    "ranges",
    "ledger",
    "streams",
)
_ROOMS += ("mechanisms", "privacy", "tables")


class CoverageMap:
    """Tests by the lines that they run, in a copy of the repository that is kept beside the map.

    Attributes
    ----------
    code : folder of the copy.
    seconds : how long each test took that passed.
    """

    def __init__(self, folder: Path) -> None:
        self.code = folder / "code"
        self._data = coverage.CoverageData(str(folder / "coverage.data"))
        self._data.read()
        entries = map(json.loads, (folder / "seconds.jsonl").read_text().splitlines())
        self.seconds: dict[str, float] = {each["test"]: each["seconds"] for each in entries}

    def tests_of(self, path: str, line: int, end: int) -> list[str]:
        """Return the tests that run a line of lines `line` to `end`, quickest first.

        Of lines that run while the module is imported, the tests that run any of its lines.
        """
        file = next((f for f in self._data.measured_files() if f.endswith(f"/code/{path}")), "")
        contexts = self._data.contexts_by_lineno(file)
        run = contexts.get(line) or [c for at in range(line, end + 1) for c in contexts.get(at, ())]
        if "" in run or not run:
            functions = {c for at, found in contexts.items() if "" not in found for c in found}
            run = [*run, *functions] if run else []
        return self._quickest_first(each.partition("|")[0] for each in run)

    def _quickest_first(self, tests: Iterable[str]) -> list[str]:
        known = [test for test in set(tests) if test in self.seconds]
        return sorted(known, key=lambda test: (self.seconds[test], test))


def make_map(folder: Path, jobs: int) -> CoverageMap:
    """Copy the repository and run the tests of the trusted modules on it, unless that was done."""
    done = folder / "map-is-complete"
    if not done.exists():
        for old in folder.glob("coverage.data*"):
            old.unlink()
        (folder / "seconds.jsonl").unlink(missing_ok=True)
        code = folder / "code"
        if not code.exists():
            copy_repository(code)
        _run_all_tests(folder, code, jobs)
        done.touch()
    return CoverageMap(folder)


def _run_all_tests(folder: Path, code: Path, jobs: int) -> None:
    settings = folder / "coveragerc"
    settings.write_text(_SETTINGS.format(data=folder / "coverage.data"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(code / "src"),
        "CI": "true",
        "OPENBLAS_NUM_THREADS": "1",
        tests_by_line.SECONDS: str(folder / "seconds.jsonl"),
    }
    options = ["-q", "-p", tests_by_line.__name__, "-p", "no:cacheprovider", "-n", str(jobs)]
    options += ["--dist", "loadfile", "-m", "not verify and not audit"]
    options += ["--cov", "--cov-context=test", f"--cov-config={settings}", "--cov-report="]
    rooms = [f"tests/{room}" for room in _ROOMS if (code / "tests" / room).exists()]
    with (folder / "map.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *rooms, "src"],
            cwd=code,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,  # a test that fails is not used
        )
