"""`dphist` and `python -m dphist` are the command line."""

import os
from typing import NoReturn


def run() -> NoReturn:
    """Run the command line and end the process."""
    hold_standard_descriptors()
    from dphist import signals

    signals.handle_signals()
    # What takes long to import comes after that.
    from dphist.cli import main

    try:
        code = main()
    except SystemExit as asked:  # --help and --version have printed what they should
        code = asked.code if isinstance(asked.code, int) else 0
    signals.end_process(code)


def hold_standard_descriptors() -> None:
    """Open the null device on those of 0 to 2 that the caller closed.

    The next file that is opened would get the number, and what is meant for standard output or
    error, by us or by a library, would be written into it: into a stream's state, say. The streams
    of Python stay None.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the smallest number that is free: this one


if __name__ == "__main__":
    run()
