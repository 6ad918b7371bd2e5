"""Public cells of sizes, in which users are counted by how many labels or records they have."""

from math import isqrt

from dphist.errors import ParameterError, phrase
from dphist.parameters import whole_number

LARGEST_NUMBER = 2**20
"""Largest size at which the last cell may start."""


def check_most(
    most: object, cap: int | None, name: str = "users_by_labels", bound: str = "max_labels"
) -> int:
    """Return where the last cell starts, checked with the bound on the size of a user.

    Parameters
    ----------
    most, cap : the start of the last cell, and the bound; None without a bound.
    name, bound : the parameters that these are.

    Raises
    ------
    ParameterError
    """
    checked = whole_number(most, name, 2, LARGEST_NUMBER)
    if cap is not None and checked <= cap:
        raise ParameterError(
            name,
            phrase(f"must be above {{{bound}}}, so that users who had more are counted apart"),
        )
    return checked


def make_cells(most: int, cap: int | None = None) -> tuple[int, ...]:
    """Return where the cells start: 1, 2, 3, 4, 6, 8, 11, 16, ... up to `most`.

    Each start is about 1.4 times the one before. The last cell has all numbers from `most` on. A
    cell also starts above the bound, so that the users who had more are counted exactly.

    Parameters
    ----------
    most : from 2 to 2**20.
    cap : the bound on the size of a user; None if there is none.

    >>> make_cells(16, 5), make_cells(2)
    ((1, 2, 3, 4, 6, 8, 11, 16), (1, 2))
    """
    starts, power = {1, most}, 1
    while (start := _root_of_power(power)) < most:
        starts.add(start)
        power += 1
    if cap is not None and cap < most:
        starts.add(cap + 1)
    return tuple(sorted(starts))


def _root_of_power(power: int) -> int:
    """Return 2**(power / 2) to the nearest whole number, exactly."""
    half, odd = divmod(power, 2)
    if not odd:
        return 1 << half
    return (isqrt(1 << (power + 2)) + 1) // 2
