"""Tests that are collected once, and run in forks of this process with one module changed.

Most changes are found by tests that take a tenth of a second, while starting Python, importing
NumPy, SciPy, pandas, Polars and DuckDB and collecting the tests takes many.
"""

import atexit
import functools
import gc
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from mutants import outcome

ENDLESS = -1
BROKEN = 3  # as pytest ends where it fails itself
_REMEMBERING = functools._lru_cache_wrapper
_WALL = 6  # seconds of the clock for one of the processor: others use the machine
# Of the plugins that are installed only that of Hypothesis is used.
OPTIONS: tuple[str, ...] = ("-x", "-q", "-s", "-p", "no:cacheprovider")
OPTIONS += ("-p", "_hypothesis_pytestplugin", "-m", "not verify and not audit")
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of what is imported already


class CollectedTests:
    """All tests of a copy of the repository, in this process.

    Parameters
    ----------
    code : the folder of the copy; its text is never changed.

    Attributes
    ----------
    items : the tests by their names.
    """

    def __init__(self, code: Path) -> None:
        self._code = code
        self._functions: dict[str, list[FunctionType]] = {}
        self._remembering: list[functools._lru_cache_wrapper[Any]] = []
        self._session: pytest.Session
        self.items: dict[str, pytest.Item] = {}

    def collect(self, paths: list[str], work: Callable[[], None]) -> None:
        """Collect the tests of files and folders, and call `work`, which may run them."""
        os.chdir(self._code)
        sys.path[:0] = [str(self._code), str(self._code / "src")]
        os.environ.update({"CI": "true", "OPENBLAS_NUM_THREADS": "1"})
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling takes seconds
        status = pytest.main([*OPTIONS, *paths], plugins=[outcome, self._Plugin(self, work)])
        if not self.items:
            raise RuntimeError(f"the tests cannot be collected: pytest ended with {status}")

    class _Plugin:
        """Calls `work` where pytest would run the tests."""

        def __init__(self, tests: "CollectedTests", work: Callable[[], None]) -> None:
            self._tests = tests
            self._work = work

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            self._tests._hold(session)
            self._work()
            return True

    def _hold(self, session: pytest.Session) -> None:
        self._session = session
        self.items = {item.nodeid: item for item in session.items}
        within = str(self._code / "src")
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename.startswith(within):
                self._functions.setdefault(each.__code__.co_filename, []).append(each)
            elif type(each) is _REMEMBERING and each.__module__.startswith("dphist."):
                self._remembering.append(each)
        gc.collect()
        gc.freeze()

    def run(self, tests: list[str], path: str = "", text: str = "") -> int:
        """Run tests, with the functions of a module as in another text; return pytest's status.

        To be called in a fork: the functions stay changed.
        """
        if path:
            self._change(path, text)
        chosen = [self.items[test] for test in tests]
        for item, following in zip_longest(chosen, chosen[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._session.testsfailed:
                return 1
        return 0

    def _change(self, path: str, text: str) -> None:
        """Give the functions of a module, and its constants, what they have in another text.

        Functions that others have imported are changed as well, and constants of the same name.
        What functions remember from before is forgotten.
        """
        for each in self._remembering:
            each.cache_clear()
        file = str(self._code / path)
        before, after = [
            compile(each, file, "exec") for each in ((self._code / path).read_text(), text)
        ]
        old, new = _codes(before), _codes(after)
        instead = {
            old[name]: new[name] for name in old.keys() & new.keys() if old[name] != new[name]
        }
        functions = self._functions[file]
        changed = [function for function in functions if function.__code__ in instead]
        for function in changed:
            function.__code__ = instead[function.__code__]
        if not changed:
            name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
            _change_constants(_run_module(before, name), _run_module(after, name), functions)


def _run_module(code: CodeType, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "__name__": name,
        "__package__": name.rpartition(".")[0],
        "__file__": code.co_filename,
    }
    exec(code, found)  # noqa: S102
    return found


def _change_constants(
    before: dict[str, Any], after: dict[str, Any], functions: list[FunctionType]
) -> None:
    """Change what differs between two runs of a module: constants, and defaults of functions."""
    number = 0
    for name, value in after.items():
        old = repr(before.get(name))
        if name.startswith("__") or " at 0x" in old or repr(value) == old:
            continue
        for module in list(sys.modules.values()):
            own = getattr(module, "__dict__", {})
            ours = str(own.get("__name__")).startswith(("dphist.", "tests."))
            if ours and name in own and repr(own[name]) == old:
                own[name] = value
                number += 1
    defaults = {each.__qualname__: each for each in _functions_of(after)}
    for function in functions:
        other = defaults.get(function.__qualname__)
        if other is not None and repr(_defaults(function)) != repr(_defaults(other)):
            function.__defaults__, function.__kwdefaults__ = _defaults(other)
            number += 1
    if not number:
        raise ValueError("neither a function nor a constant has changed")


def _functions_of(found: dict[str, Any]) -> Iterator[FunctionType]:
    for value in found.values():
        for each in [value, *(vars(value).values() if isinstance(value, type) else [])]:
            if isinstance(each, FunctionType) and each.__module__ == found["__name__"]:
                yield each


def _defaults(function: FunctionType) -> tuple[Any, Any]:
    return function.__defaults__, function.__kwdefaults__


def _codes(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of all functions of a module, by their names and which of that name it is."""
    found: dict[tuple[str, int], CodeType] = {}
    times: Counter[str] = Counter()

    def walk(code: CodeType) -> None:
        for each in code.co_consts:
            if isinstance(each, CodeType):
                found[each.co_qualname, times[each.co_qualname]] = each
                times[each.co_qualname] += 1
                walk(each)

    walk(module)
    return found


def run_forked(copy: Path, found: Path, seconds: int, work: Callable[[], int]) -> int:
    """Call a function in a fork, in a copy of the code; return what it returned, or `ENDLESS`.

    `seconds` limits the processor time. The first test that fails is written to `found`.
    """
    found.unlink(missing_ok=True)
    temporary = found.with_suffix(".tmp")
    temporary.mkdir()

    def run() -> int:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        os.chdir(copy)
        os.environ.update({"PYTHONPATH": str(copy / "src"), outcome.VARIABLE: str(found)})
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(temporary)
        log = os.open(found.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for own, instead in ((0, nothing), (1, log), (2, log)):
            os.dup2(instead, own)
        status = work()
        atexit._run_exitfuncs()
        return status

    child = _fork(run)
    try:
        return _wait(child, _WALL * seconds)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # what the tests started and left
        shutil.rmtree(temporary, ignore_errors=True)


def _fork(work: Callable[[], int]) -> int:
    """Return the number of a fork of this process, which ends with the status of `work`."""
    child = os.fork()
    if child:
        return child
    status = BROKEN
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(child: int, seconds: int) -> int:
    """Wait for a child; a change that sleeps or waits never ends."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else ENDLESS
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return ENDLESS


def share(tasks: int, jobs: int, work: Callable[[int, int], None]) -> None:
    """Call `work` with a worker's number and each task's, in `jobs` forks of this process."""
    reader, writer = os.pipe()
    parent = os.getpid()

    def run(worker: int) -> int:
        os.close(writer)
        for task in _numbers(reader, parent):
            work(worker, task)
        return 0

    workers = [_fork(partial(run, worker)) for worker in range(jobs)]
    os.close(reader)
    for task in range(tasks):
        os.write(writer, task.to_bytes(4, "big"))
    os.close(writer)
    for child in workers:
        os.waitpid(child, 0)


def _numbers(reader: int, parent: int) -> Iterator[int]:
    while os.getppid() == parent and (read := os.read(reader, 4)):
        yield int.from_bytes(read, "big")
