"""What an estimator found, and how far it is to be trusted."""

from dataclasses import dataclass
from decimal import Decimal

NORMAL = 1.959963984540054  # 97.5 % point
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated property of a population.

    Attributes
    ----------
    value : the estimate, in `unit`.
    method : name of the estimator.
    standard_error : standard deviation that sampling gives the estimate, or None where it is
        not known. Neither bias nor noise of a release is part of it unless `notes` says so.
    interval : lower and upper end of a 95 % interval, or None where none can be stood by.
    unit : what `value` counts: "bits", "labels", "1" for a plain number.
    notes : what the estimate rests on, and what speaks against it.

    >>> float(Estimate(1.5, "plug-in", None, None, "bits", ()))
    1.5
    """

    value: float
    method: str
    standard_error: float | None
    interval: tuple[float, float] | None
    unit: str
    notes: tuple[str, ...]

    def __float__(self) -> float:
        return self.value


def nothing_known(value: float, method: str, unit: str) -> Estimate:
    """Return the estimate from no records: a value by convention, without error or interval."""
    return Estimate(value, method, None, None, unit, ("no records: nothing is known",))


def may_be_unseen(n: int) -> float:
    """Return the largest probability of which `n` records hold nothing, at 97.5 %.

    An event of that probability is missed by all of them with a chance of 2.5 %.
    """
    return float(1 - _TAIL ** (1 / n))


def plain_number(number: float, digits: int = 2) -> str:
    """Write a number rounded to so many digits, and never with an exponent.

    >>> plain_number(173.2), plain_number(0.004217), plain_number(-12345.0, 3)
    ('170', '0.0042', '-12,300')
    """
    if number == 0:
        return "0"
    return f"{Decimal(f'{number:.{digits - 1}e}'):,f}"
