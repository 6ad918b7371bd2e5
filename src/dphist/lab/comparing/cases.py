"""Which kind data are of."""

from typing import Any

from dphist.data.guard import refuse_guarded
from dphist.data.open_data import opened
from dphist.document.compared import Case
from dphist.document.kind import Kind
from dphist.document.kinds import kinds
from dphist.errors import ParameterError


def case_of(data: Any, delta: Any = None) -> tuple[Kind, Case]:
    """Return the kind of data, and the data, opened, with the mechanisms for them.

    Raises
    ------
    LedgerError
        If a ledger guards the data: comparing would look at them without paying.
    ParameterError
        If they are of no kind, or a delta is missing.
    """
    refuse_guarded(data)
    declared = [(kind, kind.comparing) for kind in kinds() if kind.comparing is not None]
    for kind, comparing in reversed(declared):
        if comparing.takes(data):
            return kind, comparing.case(data, opened(data), delta)
    *some, last = (comparing.data for _, comparing in declared)
    raise ParameterError("data", f"must be {', '.join(some)}, or {last}")
