"""Which tests run which line, found by running all tests of the trusted modules once."""

import ast
import json
import os
import re
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
_ROOMS += ("mechanisms", "privacy", "counting")


class CoverageMap:
    """Tests by the lines that they run, in a copy of the repository that is kept beside the map.

    Attributes
    ----------
    code : folder of the copy.
    seconds : how long each test took that passed.
    """

    def __init__(self, folder: Path) -> None:
        self.code = folder / "code"
        self._parts = sorted(folder.glob("part-*/coverage.data*"))
        self._read: dict[str, dict[int, list[str]]] = {}
        entries = map(json.loads, (folder / "seconds.jsonl").read_text().splitlines())
        self.seconds: dict[str, float] = {each["test"]: each["seconds"] for each in entries}

    def tests_of(self, path: str, line: int, end: int) -> list[str]:
        """Return the tests that run a line of lines `line` to `end`, quickest first.

        Of lines that run while the module is imported, those that run a line which uses what is
        defined there, and then those that run any line of the module.
        """
        run = self._run_by(path, line, end)
        if not self.is_run_by_imports(path, line, end):
            return self._quickest_first(run)
        contexts = self._contexts(path)
        users = [c for at in users_of(self._text(path), line) for c in contexts.get(at, ())]
        others = [c for found in contexts.values() if "" not in found for c in found]
        return list(
            dict.fromkeys([*self._quickest_first([*run, *users]), *self._quickest_first(others)])
        )

    def is_run_by_imports(self, path: str, line: int, end: int) -> bool:
        """Whether a line runs while modules, also those of the tests, are imported."""
        # What is imported before the measurement begins has no such context.
        return "" in self._run_by(path, line, end) or not is_in_function(self._text(path), line)

    def _text(self, path: str) -> str:
        return (self.code / path).read_text()

    def _run_by(self, path: str, line: int, end: int) -> list[str]:
        contexts = self._contexts(path)
        return contexts.get(line) or [
            c for at in range(line, end + 1) for c in contexts.get(at, ())
        ]

    def _contexts(self, path: str) -> dict[int, list[str]]:
        if path not in self._read:
            lines: dict[int, list[str]] = {}
            for part in self._parts:
                data = coverage.CoverageData(str(part))  # a fork cannot use that of its parent
                data.read()
                file = next((f for f in data.measured_files() if f.endswith(f"/code/{path}")), "")
                for line, found in data.contexts_by_lineno(file).items():
                    lines.setdefault(line, []).extend(each.partition("|")[0] for each in found)
            self._read[path] = lines
        return self._read[path]

    def _quickest_first(self, tests: Iterable[str]) -> list[str]:
        known = [test for test in set(tests) if test in self.seconds]
        return sorted(known, key=lambda test: (self.seconds[test], test))


def is_in_function(text: str, line: int) -> bool:
    """Whether a line is part of the body of a function."""
    return any(
        isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= (node.end_lineno or 0)
        for node in ast.walk(ast.parse(text))
    )


def users_of(text: str, line: int) -> list[int]:
    """Return the lines that use what a line of a module defines: a name, or a default."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        match node:
            case ast.FunctionDef(body=body) if line < body[0].lineno:
                return list(range(body[0].lineno, (node.end_lineno or 0) + 1))
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                word = re.compile(rf"\b{name}\b")
                return [at for at, each in enumerate(text.splitlines(), 1) if word.search(each)]
    return []


def make_map(folder: Path, jobs: int, *, as_it_is: bool = False) -> CoverageMap:
    """Copy the repository and run the tests of the trusted modules on it, unless that was done.

    A run that was stopped is continued; with `as_it_is` what it has found is used.
    """
    done = folder / "map-is-complete"
    if not (done.exists() or as_it_is):
        code = folder / "code"
        if not code.exists():
            copy_repository(code)
        part = folder / f"part-{len(list(folder.glob('part-*')))}"
        part.mkdir()
        _run_all_tests(part, folder / "seconds.jsonl", code, jobs)
        done.touch()
    return CoverageMap(folder)


def test_paths(code: Path) -> list[str]:
    """Return the folders of the tests of the trusted modules, in a copy of the repository."""
    return [f"tests/{room}" for room in _ROOMS if (code / "tests" / room).exists()]


def _run_all_tests(part: Path, seconds: Path, code: Path, jobs: int) -> None:
    settings = part / "coveragerc"
    settings.write_text(_SETTINGS.format(data=part / "coverage.data"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(code / "src"),
        "CI": "true",
        "OPENBLAS_NUM_THREADS": "1",
        tests_by_line.SECONDS: str(seconds),
    }
    options = ["-q", "-p", tests_by_line.__name__, "-p", "no:cacheprovider", "-n", str(jobs)]
    options += ["--dist", "loadfile", "-m", "not verify and not audit"]
    options += ["--cov", "--cov-context=test", f"--cov-config={settings}", "--cov-report="]
    with (part / "map.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *test_paths(code)],
            cwd=code,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,  # a test that fails is not used
        )
