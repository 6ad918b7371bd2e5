"""The one exception tree.

Every error a user can see is a `DphistError`. A message names the parameter or column and what is
expected. It never shows a value from the data, because error messages are published without noise
(in logs, tickets, screenshots). Names of files and columns may be anything: what cannot be printed
is escaped, for a terminal would obey it.
"""

from dphist.visible import visible


class DphistError(Exception):
    """Base class of all errors of this library; its message may have several lines."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)

    def __str__(self) -> str:
        return "\n".join(visible(str(line)) for line in self.args)


class ParameterError(DphistError, ValueError):
    """A parameter of a mechanism, guarantee or command is invalid."""


class DataError(DphistError, ValueError):
    """A record is invalid in itself: a negative count, a null where none is allowed."""


class ColumnError(DataError):
    """A column is missing or has an unsuitable type."""


class BoundsError(DphistError, ValueError):
    """The bounds of the data are larger than those a mechanism protects."""


class InputFileError(DphistError):
    """An input file is missing or unreadable, or its content does not match its extension."""


class OutputFileError(DphistError):
    """An output cannot be written; no file is left half-written."""


class ReleaseFileError(DphistError):
    """A saved release is damaged, edited or written by a later version."""


class StateError(DphistError):
    """The saved state of a stream is in use elsewhere, taken over, copied, damaged or edited."""


class LedgerError(DphistError):
    """A ledger is damaged, in use, of a later version, closed, or asked for what it has not."""


class BudgetError(LedgerError):
    """A release would cost more than an account, or a cap, has left; nothing was charged."""


class HorizonError(DphistError):
    """A stream has reached the number of events, or readings, that its guarantee covers."""


class SizeError(DphistError):
    """A private estimate asks for more noisy counts than memory is meant to hold."""
