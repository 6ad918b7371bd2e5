"""`dphist` and `python -m dphist` are the command line."""

from typing import NoReturn

from dphist.commands import ending


def run() -> NoReturn:
    """Run the command line and end the process."""
    ending.handle_signals()
    # What takes long to import comes after that.
    from dphist.cli import main

    try:
        code = main()
    except SystemExit as asked:  # --help and --version have printed what they should
        code = asked.code if isinstance(asked.code, int) else 0
    ending.leave(code)


if __name__ == "__main__":
    run()
