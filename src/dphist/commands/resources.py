"""Options of how much memory, how many threads and which folder reading a table may use."""

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dphist.commands.options import UsageError, whole

_NAMES = ("memory", "threads", "temp")


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
    with _resources_of(options):
        options.run(options)


def _resources_of(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the settings that the options ask for, to be entered."""
    given = {name: getattr(options, name, None) for name in _NAMES}
    if all(value is None for value in given.values()):
        return nullcontext()
    from dphist.tables.engine.resources import Resources  # slow to import, and seldom needed

    return Resources(**given)
