"""Small random changes of the trusted modules: each can be made, and a run is continued."""

import ast
import gc
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mutants.at_random import running
from mutants.at_random.__main__ import draw_changes
from mutants.at_random.changes import Change, changes_of
from mutants.at_random.coverage_map import CoverageMap, users_of
from mutants.at_random.forked import BROKEN, ENDLESS, CollectedTests
from mutants.at_random.results import Outcome, Results
from mutants.at_random.running import Runner
from mutants.at_random.trusted import left_out, trusted_files
from mutants.catalogue import FOLDER, ROOT, load

ALL_KINDS = """\
from math import floor

SHARE, WORDS = 0.5, 4096
STEP = Fraction("0.25")


def bound(rows: Literal[3], most, *, level: int = 1):
    'Text with 7 < 8.'
    if rows > most and rows:
        raise ValueError(f"more than {most + 1}")
    query = f"SELECT least(n, {most}) WHERE place <= 3"
    low = np.searchsorted(rows, most, side="left")
    return min(floor(rows // 2), -(-most // 3)) if not low else epsilon
"""
TOY = '''\
"""Numbers."""

LIMIT = 10


def cap(number: int) -> int:
    """Return a number, at most 10."""
    if number > 1000:
        raise ValueError
    return min(number, LIMIT)


def spare(number: int) -> int:
    """Return the next number."""
    return number + 1
'''
TOY_TESTS = """\
import pytest
from dphist.noise.toy import cap

@pytest.mark.parametrize("number", [0, 9, 10, 11])
def test_cap(number):
    assert cap(number) == sorted([number, 10])[0]
"""


def change(new: str = "11") -> Change:
    start = TOY.index("10")
    return Change("src/dphist/noise/toy.py", 3, start, start + 2, "number", "10", new)


def test_every_kind_of_change_is_found() -> None:
    found = {(each.line, each.kind, each.old, each.new) for each in changes_of("", ALL_KINDS)}
    assert found == {
        (3, "number", "0.5", "0.505"),
        (3, "number", "0.5", "0.495"),
        (3, "number", "4096", "4097"),
        (3, "number", "4096", "4095"),
        (3, "number", "4096", "4137"),
        (4, "number", '"0.25"', '"0.2525"'),
        (7, "number", "1", "2"),
        (7, "number", "1", "0"),
        (9, "guard", "rows > most and rows", "False"),
        (9, "part", "rows > most", "True"),
        (9, "part", "rows", "True"),
        (9, "comparison", ">", ">="),
        (11, "text", "least(", "greatest("),
        (11, "text", " <= ", " < "),
        (12, "opposite", '"left"', '"right"'),
        (13, "opposite", "min", "max"),
        (13, "rounding", "rows // 2", "(-(-(rows) // (2)))"),
        (13, "number", "2", "3"),
        (13, "number", "2", "1"),
        (13, "rounding", "-(-most // 3)", "((most) // (3))"),
        (13, "rounding", "-most // 3", "(-(-(-most) // (3)))"),
        (13, "number", "3", "4"),
        (13, "number", "3", "2"),
        (13, "not", "not ", ""),
        (13, "quantity", "epsilon", "(epsilon * 101 / 100)"),
        (13, "quantity", "epsilon", "(epsilon * 99 / 100)"),
    }


@pytest.mark.verify
def test_changed_modules_compile_and_differ() -> None:
    drawn = draw_changes(1, 150)
    assert len({each.path for each in drawn}) > 50
    for each in changes_of("", ALL_KINDS) + drawn:
        text = (ROOT / each.path).read_text() if each.path else ALL_KINDS
        changed = ast.parse(each.apply(text))
        assert ast.dump(changed) != ast.dump(ast.parse(text)), each


def test_a_change_of_another_text_is_refused() -> None:
    with pytest.raises(ValueError, match="not the one"):
        change().apply("LIMIT = 9\n")


def test_a_seed_draws_the_same_changes_in_one_order(toy: Path) -> None:
    every = draw_changes(5, 100, toy)
    assert draw_changes(5, 4, toy) == every[:4]
    assert draw_changes(6, 100, toy) != every
    assert sorted(every) == changes_of(change().path, TOY)


def test_the_trusted_modules_are_there_and_what_is_left_out_too() -> None:
    files = trusted_files()
    assert len(files) > 150
    folders = {path.split("/")[2] for path in files}
    assert folders >= {"noise", "privacy", "counting", "data", "ledger", "streams", "durable"}
    library = ROOT / "src" / "dphist"
    every = [path.relative_to(library).as_posix() for path in library.rglob("*.py")]
    for pattern in left_out():
        assert any(fnmatch(path, pattern) for path in every), pattern


def test_results_are_kept_and_half_a_line_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "seed-1.jsonl"
    results = Results(file)
    quick = Outcome(change(), False, "survived", 3, 1.5, "")
    every = Outcome(
        change(), True, "caught", 9, 2.5, "tests/test_toy.py::test_cap (AssertionError)"
    )
    results.add(quick)
    results.add(every)
    results.add(Outcome(change("9"), False, "caught", 1, 1.0, ""))
    file.write_text(file.read_text()[:-20])
    again = Results(file)
    assert again.find(change(), every=False) == quick
    assert again.last(change()) == every
    assert again.last(change("9")) is None
    again.add(quick)
    assert [json.loads(line)["verdict"] for line in file.read_text().splitlines()] == [
        "survived",
        "caught",
        "survived",
    ]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A repository with one trusted module."""
    root = tmp_path / "toy"
    noise = root / "src" / "dphist" / "noise"
    noise.mkdir(parents=True)
    (noise / "toy.py").write_text(TOY)
    for package in (noise, noise.parent):
        (package / "__init__.py").write_text("")
    (root / "tests" / "noise").mkdir(parents=True)
    (root / "tests" / "noise" / "test_toy.py").write_text(TOY_TESTS)
    (root / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["verify", "audit"]\n'
    )
    shutil.copytree(FOLDER, root / "mutants", ignore=shutil.ignore_patterns("__pycache__"))
    return root


class StatedMap(CoverageMap):
    """A map that states the same tests for each line."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def tests_of(self, path: str, line: int, end: int) -> list[str]:
        return self._quickest_first([*self.seconds, "tests/test_toy.py::test_that_failed"])

    def is_run_by_imports(self, path: str, line: int, end: int) -> bool:
        return False


class StatedTests(CollectedTests):
    """Tests that end with stated statuses.

    Attributes
    ----------
    asked : the lists of tests that were run with the change.
    failing : of all statuses 1: the test that failed, and whether it also fails without the change.
    """

    def __init__(self, root: Path, names: list[str], statuses: list[int]) -> None:
        self.root = root
        self.items = dict.fromkeys(names)
        self.statuses = statuses
        self.asked: list[list[str]] = []
        self.failing = ("", False)

    def run(self, tests: list[str], path: str = "", text: str = "") -> int:
        if not path:
            assert tests == [self.failing[0]]
            assert (self.root / change().path).read_text() == TOY
            return int(self.failing[1])
        assert "LIMIT = 11" in text
        return self.run_changed(tests)

    def run_changed(self, tests: list[str]) -> int:
        assert "LIMIT = 11" in (self.root / change().path).read_text()
        self.asked.append(list(tests))
        status = self.statuses[len(self.asked) - 1]
        if status == 1 and self.failing[0]:
            failed = {"test": self.failing[0], "error": "AssertionError"}
            self.root.with_name(f"{self.root.name}.json").write_text(json.dumps(failed))
        return status


@pytest.fixture
def make_runner(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a maker of a runner and its tests, from their seconds and statuses."""

    def make(seconds: dict[str, float], statuses: list[int]) -> tuple[Runner, StatedTests]:
        tests = StatedTests(toy, list(seconds), statuses)
        monkeypatch.setattr(running, "run_forked", lambda copy, found, limit, work: work())
        monkeypatch.setattr(running, "_start_pytest", tests.run_changed)
        return Runner(toy, StatedMap(seconds), tests, load(), (60, 60)), tests

    return make


def test_the_quickest_case_of_each_test_is_run_first(
    toy: Path, make_runner: Callable[..., Any]
) -> None:
    seconds = {"t.py::a[1]": 0.3, "t.py::a[0]": 0.2, "t.py::b": 0.1, "t.py::long": 30.0}
    runner, tests = make_runner(seconds, [0, 1])
    tests.items["t.py::a[2]"] = None  # a case that the map has not
    assert runner.run(change(), every=False).verdict == "survived"
    assert runner.run(change(), every=True).verdict == "caught"
    first = ["t.py::b", "t.py::a[0]"]
    assert tests.asked == [first, [*first, "t.py::a[1]", "t.py::long", "t.py::a[2]"]]
    assert (toy / change().path).read_text() == TOY


@pytest.mark.parametrize(
    ("statuses", "every", "verdict"),
    [
        ([0], False, "survived"),
        ([1], False, "caught"),
        ([BROKEN, 2], False, "caught"),  # an import fails
        ([BROKEN, 4, 1], False, "caught"),  # a case has another name
        ([ENDLESS], False, "endless"),
        ([ENDLESS], True, "survived"),
    ],
)
@pytest.mark.quick(every=2)
def test_what_the_end_of_the_tests_means(
    make_runner: Callable[..., Any], statuses: list[int], every: bool, verdict: str
) -> None:
    runner, tests = make_runner({"t.py::a[1]": 0.1}, statuses)
    assert runner.run(change(), every).verdict == verdict
    assert len(tests.asked) == len(statuses)


@pytest.mark.parametrize(("fails_always", "verdict"), [(True, "survived"), (False, "caught")])
def test_a_test_that_fails_without_the_change_is_not_asked(
    make_runner: Callable[..., Any], fails_always: bool, verdict: str
) -> None:
    runner, tests = make_runner({"t.py::a": 0.1, "t.py::b": 0.2}, [1, 0])
    tests.failing = ("t.py::a", fails_always)
    assert runner.run(change(), every=False).verdict == verdict
    assert tests.asked == [["t.py::a", "t.py::b"], ["t.py::b"]][: 1 + fails_always]


def test_a_line_that_no_test_runs_is_named(make_runner: Callable[..., Any]) -> None:
    runner, _ = make_runner({}, [])
    assert runner.run(change(), every=False).verdict == "not run"


def test_what_a_function_remembers_is_forgotten(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a table that was made before the change is used with it."""
    file = toy / change().path
    text = "import functools\n\n\n@functools.cache\ndef cap():\n    return 10\n"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("dphist.noise.toy", file)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.cap() == 10
    monkeypatch.setattr(gc, "freeze", lambda: None)
    tests = CollectedTests(toy)
    session: Any = SimpleNamespace(items=[])
    tests._hold(session)
    tests._change(change().path, text.replace("10", "11"))
    assert module.cap() == 11


def test_users_of_a_name_and_of_a_default_are_found() -> None:
    assert users_of(TOY, 3) == [3, 10]
    assert users_of(ALL_KINDS, 7) == [8, 9, 10, 11, 12, 13]
    assert users_of(TOY, 10) == []


@pytest.mark.verify
def test_a_run_is_continued(toy: Path, tmp_path: Path) -> None:
    """The tests are mapped once, and each change is run once."""

    def run(changes: int) -> str:
        command = [sys.executable, "-m", "mutants.at_random", "--seed", "1", "--jobs", "1"]
        command += ["--kept", str(tmp_path / "kept"), "--changes", str(changes)]
        # What pytest tells its own workers is not for the pytest that is started here.
        told = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
        environment = {**told, "PYTHONPATH": ""}
        return subprocess.run(
            command, cwd=toy, env=environment, check=True, capture_output=True, text=True
        ).stdout

    run(4)
    second = run(100)
    (results,) = (tmp_path / "kept").glob("*/seed-1.jsonl")
    entries = [json.loads(line) for line in results.read_text().splitlines()]
    assert len(entries) == 10 + 5  # the quickest tests of each, and all of what survived
    found = {(each["change"]["old"], each["change"]["new"]): each["verdict"] for each in entries}
    assert found == {
        ("10", "11"): "caught",
        ("10", "9"): "caught",
        ("number > 1000", "False"): "survived",
        (">", ">="): "survived",
        ("1000", "999"): "survived",
        ("1000", "1001"): "survived",
        ("1000", "1010"): "survived",
        ("min", "max"): "caught",
        ("1", "0"): "not run",
        ("1", "2"): "not run",
    }
    # Nothing is run again: what is printed is the summary.
    assert run(100).splitlines()[-8:] == second.splitlines()[-8:]
    assert len(results.read_text().splitlines()) == 15
    assert second.splitlines()[-1] == "5 survived, 3 caught, 2 not run"
