"""Running one change: which tests are asked, in which order, and what their answer means."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

from mutants.at_random.changes import Change
from mutants.at_random.coverage_map import CoverageMap
from mutants.at_random.forked import ENDLESS, run_tests
from mutants.at_random.results import Outcome, Verdict
from mutants.catalogue import Mutant

_QUICK_SECONDS, _QUICK_TESTS = 8, 15
_NOT_FOUND, _NONE_CHOSEN = 4, 5  # statuses of pytest


class Runner:
    """Runs changes in a copy of the code.

    Parameters
    ----------
    copy : folder that the changes are made in; its text is as the map's.
    mutants : the planted bugs; their tests are asked for changes of the same module too.
    seconds : processor time of all tests of a change; of the quickest ones, a quarter is expected.
    """

    def __init__(self, copy: Path, tests: CoverageMap, mutants: list[Mutant], seconds: int) -> None:
        self._copy = copy
        self._map = tests
        self._mutants = mutants
        self._seconds = seconds

    def run(self, change: Change, every: bool) -> Outcome:
        """Make a change, run the quickest or all tests that run its line, and take it back."""
        start = time.monotonic()
        file = self._copy / change.path
        text = file.read_text()
        end = change.line + change.old.count("\n")
        covering = self._map.tests_of(change.path, change.line, end)
        tests = list(self._all(change, covering) if every else self._quickest(covering))
        if not tests:
            return Outcome(change, every, "not run", 0, 0.0, "")
        found = self._copy.with_name("outcome.json")
        try:
            _write(file, change.apply(text))
            status = run_tests(self._copy, tests, found, self._seconds)
            if status == _NOT_FOUND:  # the change has renamed a case
                functions = sorted({_function(test) for test in tests})
                status = run_tests(self._copy, functions, found, self._seconds)
        finally:
            _write(file, text)
        seconds = round(time.monotonic() - start, 1)
        if status == ENDLESS:
            verdict: Verdict = "survived" if every else "endless"
            return Outcome(change, every, verdict, len(tests), seconds, "the time was up")
        if status in (0, _NONE_CHOSEN):
            return Outcome(change, every, "survived", len(tests), seconds, "")
        return Outcome(change, every, "caught", len(tests), seconds, _first_failure(found))

    def _quickest(self, covering: list[str]) -> Iterator[str]:
        """One case of each test that runs the line, the quickest ones."""
        functions: set[str] = set()
        spent = 0.0
        for test in covering:
            spent += self._map.seconds[test]
            if functions and (spent > _QUICK_SECONDS or len(functions) == _QUICK_TESTS):
                return
            if _function(test) not in functions:
                functions.add(_function(test))
                yield test

    def _all(self, change: Change, covering: list[str]) -> Iterator[str]:
        """All cases of the tests that run the line, and the tests of the module's planted bugs."""
        module = change.path.removeprefix("src/").removesuffix(".py").replace("/", ".")
        planted = [test for each in self._mutants if each.module == module for test in each.tests]
        yield from dict.fromkeys([*map(_function, covering), *map(_function, planted)])


def _function(test: str) -> str:
    return test.partition("[")[0]


def _write(file: Path, text: str) -> None:
    """Write a module, and remove what was compiled of it: its time may be the same."""
    file.write_text(text)
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def _first_failure(found: Path) -> str:
    if not found.exists():
        return "before a test ran"
    failed = json.loads(found.read_text())
    return f"{failed['test']} ({failed['error']})"
