"""Options of how much memory, how many threads and which folder reading a table may use."""

import argparse
import tempfile
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dphist.commands.options import UsageError, whole

_NAMES = ("memory", "threads", "temp")
_GUESS = 1_000_000  # rows, where no guess was given
_MOST_ROWS = 10**15
_GB, _MB = 10**9, 10**6


def add_resources(command: argparse.ArgumentParser, *, dry_run: bool = True) -> None:
    """Add the options; `dry_run` says whether the command has a dry run, which estimates needs."""
    group = command.add_argument_group(
        "resources", "What reading FILE may use. None of this is part of the release."
    )
    group.add_argument(
        "--memory",
        metavar="SIZE",
        help="memory for counting, such as 4GB; beyond it, rows spill to temporary files (default: "
        "a quarter of the machine's memory, at least 2GB, but at most half)",
    )
    group.add_argument(
        "--threads", type=whole, metavar="N", help="threads (default: the processors, at most 8)"
    )
    group.add_argument(
        "--temp",
        metavar="DIR",
        help="folder below which temporary files are kept (default: that of TMPDIR, or the "
        "system's)",
    )
    if dry_run:
        group.add_argument(
            "--expect-rows",
            type=whole,
            metavar="N",
            help="a public guess of the number of rows, for the memory and temporary space of a "
            "dry run",
        )


def run_command(options: argparse.Namespace) -> None:
    """Run a command within the resources that its options ask for.

    Raises
    ------
    UsageError
        If rows are guessed, but not for a dry run.
    ParameterError
        If a value is invalid.
    """
    rows = getattr(options, "expect_rows", None)
    if rows is not None and not options.dry_run:
        raise UsageError("--expect-rows is for --dry-run")
    if rows is not None and rows < 1:
        raise UsageError("--expect-rows must be at least 1")
    if rows is not None and rows > _MOST_ROWS:
        raise UsageError("--expect-rows must be at most 10**15")
    with _resources_of(options):
        options.run(options)


def _resources_of(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the settings that the options ask for, to be entered."""
    given = {name: getattr(options, name, None) for name in _NAMES}
    if all(value is None for value in given.values()):
        return nullcontext()
    from dphist.tables.engine.resources import Resources  # slow to import, and seldom needed

    return Resources(**given)


def space_of(options: argparse.Namespace, way: str) -> tuple[list[str], dict[str, Any]]:
    """Return what a dry run says about memory and temporary files, in lines and for JSON.

    FILE is not opened: the number of rows is the public guess of --expect-rows.

    Parameters
    ----------
    way : as for `space_needed`; empty for a file of few rows, of which nothing is said.
    """
    if not way:
        return [], {}
    from dphist.tables.engine.private_duckdb import memory_limit  # slow to import
    from dphist.tables.engine.space_needed import space_needed

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
