"""Running one change: which tests are asked, in which order, and what their answer means."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from mutants import outcome
from mutants.at_random.changes import Change
from mutants.at_random.coverage_map import CoverageMap
from mutants.at_random.forked import BROKEN, ENDLESS, OPTIONS, CollectedTests, run_forked
from mutants.at_random.results import Outcome, Verdict
from mutants.catalogue import Mutant

_QUICK_SECONDS, _QUICK_TESTS = 8, 15
_NOT_FOUND, _NONE_CHOSEN = 4, 5  # statuses of pytest


class Runner:
    """Runs changes in a copy of the code.

    Parameters
    ----------
    copy : folder that the changes are made in; its text is as the map's.
    collected : all tests, in this process.
    mutants : the planted bugs; their tests are asked for changes of the same module too.
    seconds : processor time for the tests of a change, of the quickest ones and of all.
    """

    def __init__(
        self,
        copy: Path,
        tests: CoverageMap,
        collected: CollectedTests,
        mutants: list[Mutant],
        seconds: tuple[int, int],
    ) -> None:
        self._copy = copy
        self._map = tests
        self._collected = collected
        self._mutants = mutants
        self._seconds = seconds

    def run(self, change: Change, every: bool) -> Outcome:
        """Make a change, run the quickest or all tests that run its line, and take it back."""
        start = time.monotonic()
        end = change.line + change.old.count("\n")
        covering = [
            test
            for test in self._map.tests_of(change.path, change.line, end)
            if test in self._collected.items
        ]
        tests = list(self._all(change, covering) if every else self._quickest(change, covering))
        if not tests:
            return Outcome(change, every, "not run", 0, 0.0, "")
        number = len(tests)
        status, failed = self._ask(change, tests, every)
        while status == 1 and failed in tests and not self._passes_unchanged(failed):
            tests.remove(failed)
            status, failed = self._ask(change, tests, every)
        seconds = round(time.monotonic() - start, 1)
        if status == ENDLESS:
            verdict: Verdict = "survived" if every else "endless"
            return Outcome(change, every, verdict, number, seconds, "the time was up")
        if status in (0, _NONE_CHOSEN):
            return Outcome(change, every, "survived", number, seconds, "")
        return Outcome(change, every, "caught", number, seconds, self._first_failure())

    def _ask(self, change: Change, tests: list[str], every: bool) -> tuple[int, str]:
        """Run tests with a change; return the status, and the test that failed."""
        file = self._copy / change.path
        text = file.read_text()
        changed = change.apply(text)
        end = change.line + change.old.count("\n")
        try:
            # The files are what processes import that tests start.
            _write(file, changed)
            status = BROKEN
            if not (every and self._map.is_run_by_imports(change.path, change.line, end)):
                status = self._fork(every, lambda: self._collected.run(tests, change.path, changed))
            if status == BROKEN:
                status = self._fork(every, lambda: _start_pytest(tests))
            if status == _NOT_FOUND:  # the change has renamed a case
                functions = sorted({_function(test) for test in tests})
                status = self._fork(every, lambda: _start_pytest(functions))
        finally:
            _write(file, text)
        return status, self._first_failure().partition(" (")[0]

    def _passes_unchanged(self, test: str) -> bool:
        """Whether a test passes without a change, here and now: some fail on a busy machine."""
        own = self._found.with_suffix(".unchanged")
        return (
            run_forked(self._copy, own, self._seconds[1], lambda: self._collected.run([test])) == 0
        )

    def _fork(self, every: bool, work: Callable[[], int]) -> int:
        return run_forked(self._copy, self._found, self._seconds[every], work)

    @property
    def _found(self) -> Path:
        return self._copy.with_name(f"{self._copy.name}.json")

    def _quickest(self, change: Change, covering: list[str]) -> Iterator[str]:
        """One case of each test that runs the line, the quickest ones.

        Then of the tests of planted bugs that the map lacks.
        """
        functions: set[str] = set()
        spent = 0.0
        for test in covering:
            spent += self._map.seconds[test]
            if functions and (spent > _QUICK_SECONDS or len(functions) == _QUICK_TESTS):
                break
            if _function(test) not in functions:
                functions.add(_function(test))
                yield test
        mapped = set(map(_function, self._map.seconds))
        planted = {_function(test): test for test in reversed(self._planted(change))}
        unknown = [test for function, test in planted.items() if function not in mapped]
        yield from unknown[:_QUICK_TESTS]

    def _all(self, change: Change, covering: list[str]) -> Iterator[str]:
        """What runs the line, then the tests of the module's planted bugs and all other cases."""
        functions = set(map(_function, covering))
        others = [test for test in self._collected.items if _function(test) in functions]
        yield from dict.fromkeys([*covering, *self._planted(change), *others])

    def _planted(self, change: Change) -> list[str]:
        """All cases of the tests of the module's planted bugs."""
        module = change.path.removeprefix("src/").removesuffix(".py").replace("/", ".")
        named = {
            _function(t) for each in self._mutants if each.module == module for t in each.tests
        }
        return [
            test
            for test in self._collected.items
            if named & {_function(test), test.partition("::")[0]}
        ]

    def _first_failure(self) -> str:
        if not self._found.exists():
            return "before a test ran"
        failed = json.loads(self._found.read_text())
        return f"{failed['test']} ({failed['error']})"


def _start_pytest(tests: list[str]) -> NoReturn:
    """Become a process that runs tests: of a change that imports run."""
    arguments = [sys.executable, "-m", "pytest", *OPTIONS, "-p", outcome.__name__, *tests]
    os.execv(sys.executable, arguments)  # noqa: S606


def _function(test: str) -> str:
    return test.partition("[")[0]


def _write(file: Path, text: str) -> None:
    """Write a module, and remove what was compiled of it: its time may be the same."""
    file.write_text(text)
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()
