"""The one exception tree.

Every error a user can meet is a `DphistError`. A message names the parameter or the
column and says what was expected; it never shows a value taken from the data, because
an error message is published (in logs, tickets, screenshots) without noise.
"""


class DphistError(Exception):
    """Base of every error this library raises on purpose."""


class ParameterError(DphistError, ValueError):
    """A parameter of a mechanism, a guarantee or a command is not usable."""


class DataError(DphistError, ValueError):
    """A record is invalid in itself: a negative count, a null where none may be."""


class ColumnError(DataError):
    """A column is missing or has a type that cannot hold what it should."""


class BoundsError(DphistError, ValueError):
    """Data were made with bounds larger than those a mechanism protects."""


class InputFileError(DphistError):
    """An input file is missing, unreadable, or not what its name says."""


class OutputFileError(DphistError):
    """An output cannot be written; nothing was left half-written."""


class ReleaseFileError(DphistError):
    """A saved release is damaged, edited, or from a later version."""


class StateError(DphistError):
    """The state of a stream is in use elsewhere, taken over, copied, damaged or edited."""


class HorizonError(DphistError):
    """A stream has had as many events, or readings, as its guarantee covers."""
