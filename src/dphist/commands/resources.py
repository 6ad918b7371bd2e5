"""Options of how much memory, how many threads and which folder reading a table may use."""

import argparse
import copy
import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from dphist.commands.options import guess
from dphist.commands.parsing import check_options
from dphist.document.options import Group, Option, whole

_NAMES = ("memory", "threads", "temp")
_GUESS = 1_000_000  # rows, where no guess was given
_MOST_ROWS = 10**15
_GB, _MB = 10**9, 10**6


_OPTIONS = [
    Option(
        "memory",
        "memory for counting, such as 4GB; beyond it, rows spill to temporary files (default: a "
        "quarter of the machine's memory, at least 2GB, but at most half)",
        "SIZE",
    ),
    Option("threads", "threads (default: the processors, at most 8)", "N", whole),
    Option(
        "temp",
        "folder below which temporary files are kept (default: that of TMPDIR, or the system's)",
        "DIR",
    ),
]
_ROWS = guess("expect_rows", "the number of rows, for the memory and temporary space of a dry run")
_TEXT = "What reading FILE may use. None of this is part of the release."

RESOURCES = Group("resources", _TEXT, [*_OPTIONS, replace(_ROWS, most=_MOST_ROWS)])
MEASURED = Group("resources", _TEXT, _OPTIONS)
"""The same for a command without a dry run."""


def run_command(options: argparse.Namespace) -> None:
    """Run a command, once its options are checked, within the resources that they ask for.

    Raises
    ------
    UsageError
        If options do not go together.
    ParameterError
        If a value is invalid.
    """
    check_options(options)
    with _make_resources(options):
        options.command.run(options)


def list_priced(options: argparse.Namespace) -> list[Any]:
    """Check a command, and return what it would pay for.

    Returns
    -------
    For each release the place, the mechanism, whom data protect, and the key.

    No data are read. The options are given the name of who pays, where the command finds it. A
    stream that has begun was paid then.
    """
    if Path(getattr(options, "state", "")).is_file():
        return []
    trial = copy.copy(options)
    trial.dry_run, trial.quiet, trial.json, trial.priced = True, True, False, []
    trial.reserve = False  # what is set aside costs as much
    if hasattr(trial, "expect_total"):
        trial.expect_total = 1  # an error that nobody sees is computed for one record
    run_command(trial)
    options.by = getattr(trial, "by", None)
    priced: list[Any] = trial.priced
    return priced


def _make_resources(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the settings that the options ask for, to be entered."""
    given = {name: getattr(options, name, None) for name in _NAMES}
    if all(value is None for value in given.values()):
        return nullcontext()
    from dphist.counting.engine.resources import Resources  # slow to import, and seldom needed

    return Resources(**given)


def estimate_space(options: argparse.Namespace, way: str) -> tuple[list[str], dict[str, Any]]:
    """Return what a dry run says about memory and temporary files, in lines and for JSON.

    FILE is not opened: the number of rows is the public guess of --expect-rows.

    Parameters
    ----------
    way : as for `space_needed`; empty for a file of few rows, of which nothing is said.
    """
    if not way:
        return [], {}
    from dphist.counting.engine.private_duckdb import memory_limit  # slow to import
    from dphist.counting.engine.resources import space_needed

    rows = options.expect_rows or _GUESS
    limit = memory_limit()
    found = space_needed(way, rows, limit)
    shown = {"rows": rows, "memory": found.memory, "temporary": found.temporary}
    line = f"Resources: {rows:,} rows need about {_size(found.memory)} of memory"
    if found.temporary:
        folder = options.temp or tempfile.gettempdir()
        line += (
            f" and {_size(found.temporary)} of temporary files in {folder} (--memory "
            f"{_size(limit)}; --temp names another folder)"
        )
    else:
        line += ", and no temporary files"
    return [f"{line}."], {"resources": shown}


def _size(number: int) -> str:
    """Write a size as --memory takes it, rounded up to two digits at most."""
    if number < _GB:
        return f"{-(-number // (10 * _MB)) * 10}MB"
    return f"{number / _GB:.2g}GB" if number < 10 * _GB else f"{-(-number // _GB)}GB"
