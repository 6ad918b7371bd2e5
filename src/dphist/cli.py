"""The command line: parse and call; `dphist.commands` has the commands.

Exit codes: 0 done; 2 for a wrong command (a bad option, a column or path that does not exist); 3 if
a ledger has not enough budget left, and nothing was charged; 4 if a release does not meet its plan,
5 if that is open (`dphist check`); 6 if the stored release of a key was returned without --again; 7
if a key was charged and has not finished; 128 plus the number of the signal that stopped it, so 130
after Ctrl-C; 1 for anything else. No traceback reaches a user, for it could show data.
"""

import argparse
import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from dphist import files, signals
from dphist.commands.configuration import read_command_line
from dphist.commands.options import UsageError
from dphist.commands.printing import complain
from dphist.commands.registry import make_parser
from dphist.commands.resources import run_command
from dphist.errors import (
    BudgetError,
    ColumnError,
    DphistError,
    ParameterError,
    UnsupportedError,
)

_USAGE = 2
REFUSED = 3
"""Exit code of what costs more than a ledger has left."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    signals.set_note("")
    options = argparse.Namespace(write=str)
    try:
        with _stopping_cleanly():
            given = sys.argv[1:] if arguments is None else arguments
            if not given:
                make_parser([]).print_help()
                return _USAGE
            options = read_command_line(given)
            files.remove_abandoned()
            run_command(options)
            if sys.stdout is not None:  # None if the caller closed it
                sys.stdout.flush()
    except DphistError as error:
        return _fail(error.format(options.write), _code(error))
    except signals.Interrupted as error:
        return _fail(str(error), signals.SIGNALED + error.number)
    except KeyboardInterrupt:
        return _fail(signals.NOTHING_WRITTEN, signals.SIGNALED + signal.SIGINT)
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # ours are DphistErrors; this one is of the terminal or pipe
        return _fail(f"could not print: {error.strerror or 'the system refused'}", 1)
    except MemoryError:
        return _fail("not enough memory; nothing was written: give a smaller --memory", 1)
    except Exception as error:  # an unforeseen error's text could quote data
        return _fail(f"unexpected {type(error).__name__}; please report it to the maintainers", 1)
    code: int = getattr(options, "ends_with", 0)
    return code


@contextlib.contextmanager
def _stopping_cleanly() -> Iterator[None]:
    """Clean up on SIGTERM and SIGHUP as on Ctrl-C; print what any terminal can show.

    A process that handles them already, as that of the command line does, goes on doing so.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def stop(number: int, _: object) -> NoReturn:
        raise signals.Interrupted(signals.NOTHING_WRITTEN, number)

    others = [each for each in signals.STOP_SIGNALS if each != signal.SIGINT]
    unhandled = [each for each in others if signal.getsignal(each) == signal.SIG_DFL]
    with signals.handled_by(stop, unhandled):
        yield


def _code(error: DphistError) -> int:
    if isinstance(error, BudgetError):
        return REFUSED
    usage = isinstance(error, UsageError | ParameterError | ColumnError | UnsupportedError)
    return getattr(error, "code", _USAGE if usage else 1)


def _fail(message: str, code: int) -> int:
    signals.ignore_signals()  # a signal now would add a second line
    complain(f"dphist: {signals.add_note(message)}")
    return code
