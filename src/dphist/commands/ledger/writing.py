"""Writing the file that an action of `dphist ledger` was asked for, whole or not at all."""

import argparse
import os

from dphist.atomic_files import check_output_path, staged_outputs
from dphist.commands.ledger.options import is_file, place_of
from dphist.commands.options import UsageError
from dphist.commands.publishing import refusal
from dphist.errors import OutputFileError


def add_overwrite(command: argparse.ArgumentParser) -> None:
    """Add the option that has an output replaced."""
    command.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an output that already exists (default: refuse it)",
    )


def check_output(path: str | None, options: argparse.Namespace) -> None:
    """Find what is wrong with an output before the ledger is read.

    Raises
    ------
    UsageError
    """
    if path is None:
        return
    place = place_of(options)
    if is_file(place) and os.path.realpath(path) == os.path.realpath(place):
        raise UsageError(f"{path} is the ledger; writing there would destroy it")
    try:
        check_output_path(path)
    except OutputFileError as error:
        raise UsageError(*error.args) from None
    if not options.overwrite and os.path.lexists(os.path.realpath(path)):
        raise UsageError(refusal([path]))


def write_output(path: str, content: bytes, options: argparse.Namespace) -> None:
    """Write a file whole or not at all, for its owner: it has names and purposes."""
    with staged_outputs() as staged:
        staged.write_private(path, content, replace=options.overwrite)
