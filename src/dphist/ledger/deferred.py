"""Data that a ledger opens after they were paid for, and what it knows of them before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dphist.data.guard import Guarded
from dphist.errors import LedgerError
from dphist.ledger.units import DataUnit
from dphist.privacy import PrivacyUnit


@dataclass(frozen=True, slots=True)
class Deferred:
    """Data that are opened only after they were paid for.

    Parameters
    ----------
    open : function without parameters that returns the data.
    unit : whom the data will protect, such as "one user"; None if they name no unit.
    records : maximum number of records of one such unit, if bounded.
    about : what is opened, in words that are public, such as a path and the names of columns. A key
        that was used with other words is refused: the stored release is of other data. The ledger
        keeps a hash of them.
    """

    open: Callable[[], Any]
    unit: PrivacyUnit | str | None = None
    records: int | None = None
    about: str = ""

    @classmethod
    def of(cls, data: Any, ledger: str) -> "Deferred":
        """Return data as something to open later, with the unit that they name.

        Parameters
        ----------
        ledger : id of the ledger; data that another one guards are refused.
        """
        if isinstance(data, Deferred):
            return data
        held = data.open_for(ledger) if isinstance(data, Guarded) else data
        unit = DataUnit.of(held)
        return cls(lambda: held, unit.unit, unit.records)

    @property
    def protected(self) -> DataUnit:
        """Whom the data protect."""
        return DataUnit(self.unit, self.records)

    def opened(self, ledger: str) -> Any:
        """Open the data.

        Raises
        ------
        LedgerError
            If they protect somebody else than was paid for, or another ledger guards them. What
            is compared are choices made without looking at the data.
        """
        data = self.open()
        if isinstance(data, Guarded):
            data = data.open_for(ledger)
        if DataUnit.of(data) != self.protected:
            raise LedgerError(
                "the data that were opened do not protect the unit, or lack the bound, that was "
                "paid for; the charge stays. Give Deferred the unit and records of the data"
            )
        return data
