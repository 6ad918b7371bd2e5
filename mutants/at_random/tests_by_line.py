"""A plugin of pytest for the run that records which tests run which lines, and how long they take.

`pytest --cov-context=test` records the lines of the process itself. This plugin also names the test
to processes that it starts, and writes a line of JSON for each test that passed: its name and
seconds. Of the cases of a test it runs the first and the last: most run the same lines.
"""

import json
import math
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import coverage

SECONDS = "DPHIST_TEST_SECONDS"  # the file that the seconds are written to
_PROCESS = "COVERAGE_PROCESS_CONFIG"  # how processes that a test starts are measured
_SPENT: dict[str, float] = {}


@pytest.hookimpl(trylast=True)  # after items are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the first and the last case of each test, unless they are written down already."""
    file = Path(os.environ[SECONDS])
    written = file.read_text().splitlines() if file.exists() else []
    known = {json.loads(line)["test"] for line in written}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for each in cases.values() for item in (each[0], each[-1])}
    items[:] = [item for item in items if item in kept and item.nodeid not in known]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, Any]:
    """Name the test to the processes that it starts."""
    measuring = coverage.Coverage.current()
    before = os.environ.get(_PROCESS)
    if measuring is not None and before is not None:
        config: Any = measuring.config
        own, config.context = config.context, f"{item.nodeid}|run"
        os.environ[_PROCESS] = config.serialize()
        config.context = own
    try:
        return (yield)
    finally:
        if before is not None:
            os.environ[_PROCESS] = before


def pytest_runtest_logreport(report: Any) -> None:
    """Write down how long a test took, if it passed."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    seconds = _SPENT.get(report.nodeid, 0.0) + report.duration
    _SPENT[report.nodeid] = seconds if report.passed else math.inf
    if report.when == "teardown" and math.isfinite(_SPENT[report.nodeid]):
        entry = {"test": report.nodeid, "seconds": round(seconds, 4)}
        with Path(os.environ[SECONDS]).open("a") as file:
            file.write(json.dumps(entry) + "\n")
