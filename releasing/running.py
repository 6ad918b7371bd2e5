"""Running commands, and saying what failed."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_OURS = {"PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS"}
_OURS |= {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"}


class CheckError(Exception):
    """A check of a release failed; the message says which and why."""


def run(
    *command: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> str:
    """Run a command and return what it printed; `CheckError` with its last lines if it fails.

    Parameters
    ----------
    env : added to the environment, which lacks what would make Python find this checkout, and what
        make tells the programs that it runs.
    codes : the exit codes that are right.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**kept, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode not in codes:
        last = "\n".join(done.stdout.splitlines()[-30:])
        raise CheckError(f"{' '.join(words)} ended with {done.returncode}:\n{last}")
    return done.stdout


def environment(folder: Path, *what: str) -> Path:
    """Make a virtual environment, install into it, and return its folder of programs."""
    run(sys.executable, "-m", "venv", "--clear", folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    if what:
        install(programs, *what)
    return programs


def install(programs: Path, *what: str) -> None:
    """Install packages into a virtual environment."""
    quiet = ("--quiet", "--disable-pip-version-check")
    run(programs / "python", "-m", "pip", "install", *quiet, *what)
