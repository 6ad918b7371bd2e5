"""Every kind of session of Spark passes `test_conformance.py`, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables.spark.sessions import KIND, MASTERS


@pytest.mark.verify
@pytest.mark.parametrize("kind", MASTERS)
def test_every_session_conforms(kind: str) -> None:
    suite = Path(__file__).with_name("test_conformance.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)]
    done = subprocess.run(
        command, env={**os.environ, KIND: kind}, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
