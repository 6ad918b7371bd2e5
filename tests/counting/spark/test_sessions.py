"""Tests of sessions of Spark, each kind in a process of its own, as Spark allows no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.counting.spark.sessions import KIND, MASTERS


# What is left to `make audit` differs from the classic session in where tasks run.
@pytest.mark.verify
@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_every_session_conforms(kind: str) -> None:
    run_tests("test_conformance.py", kind)


@pytest.mark.audit
@pytest.mark.parametrize("kind", sorted({*MASTERS} - {"classic", "connect"}))
def test_every_other_session_conforms(kind: str) -> None:
    run_tests("test_conformance.py", kind)


@pytest.mark.verify
def test_workers_need_no_python() -> None:
    run_tests("test_conformance.py", "no-python", "cannot_start_python or bounded")


@pytest.mark.verify
def test_processes_that_are_killed_cost_nothing() -> None:
    run_tests("test_losses.py", "executors")


def run_tests(name: str, kind: str, chosen: str = "") -> None:
    """Run a file of tests, or those chosen by name, in a process with one kind of session."""
    suite = Path(__file__).with_name(name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)]
    command += ["-k", chosen] if chosen else []
    done = subprocess.run(
        command, env={**os.environ, KIND: kind}, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
