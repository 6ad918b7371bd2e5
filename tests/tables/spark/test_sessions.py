"""Tests of sessions of Spark, each kind in a process of its own, as Spark allows no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables.spark.sessions import KIND, MASTERS


@pytest.mark.verify
@pytest.mark.parametrize("kind", MASTERS)
def test_every_session_conforms(kind: str) -> None:
    run("test_conformance.py", kind)


@pytest.mark.verify
def test_processes_that_are_killed_cost_nothing() -> None:
    run("test_losses.py", "executors")


def run(name: str, kind: str) -> None:
    """Run a file of tests in a process with one kind of session."""
    suite = Path(__file__).with_name(name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)]
    done = subprocess.run(
        command, env={**os.environ, KIND: kind}, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
