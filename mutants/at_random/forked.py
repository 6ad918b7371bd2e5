"""Running a few tests in a fork of this process, which has imported the large libraries already.

Most changes are found by tests that take a tenth of a second, while starting Python and importing
NumPy, SciPy, pandas, Polars and DuckDB takes several.
"""

import atexit
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import _hypothesis_pytestplugin  # type: ignore[import-untyped]
import pytest

from mutants import outcome

_LIBRARIES: tuple[str, ...] = (
    "numpy",
    "scipy.stats",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "duckdb",
)
_LIBRARIES += (
    "pyarrow.parquet",
    "pandas",
    "polars",
    "narwhals",
    "mpmath",
    "jinja2",
    "hypothesis.stateful",
)
_WALL = 900  # seconds; a change that sleeps or waits never ends
ENDLESS = -1


def import_libraries() -> None:
    """Import what most tests need. Must run before any of it starts threads."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in _LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)


def run_tests(code: Path, tests: list[str], found: Path, seconds: int) -> int:
    """Run tests on a copy of the repository; return pytest's status, or `ENDLESS`.

    `seconds` limits the processor time. The first failure is written to `found`.
    """
    found.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        status = 3
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            status = _run_here(code, tests, found)
            atexit._run_exitfuncs()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    try:
        return _wait(child)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # what the tests started and left


def _wait(child: int) -> int:
    end = time.monotonic() + _WALL
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else ENDLESS
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return ENDLESS


def _run_here(code: Path, tests: list[str], found: Path) -> int:
    os.chdir(code)
    sys.path[:0] = [str(code), str(code / "src")]
    os.environ.update({"PYTHONPATH": str(code / "src"), "CI": "true", outcome.VARIABLE: str(found)})
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of those installed only Hypothesis is used
    log = os.open(found.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for own, instead in ((0, nothing), (1, log), (2, log)):
        os.dup2(instead, own)
    plugins: list[str | ModuleType] = [outcome, _hypothesis_pytestplugin]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not verify and not audit"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported already
    return int(pytest.main([*options, *tests], plugins=plugins))
