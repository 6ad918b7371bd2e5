"""How many users have which farthest total, in plain Python."""

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import dphist as dh


def sum_totals(rows: Iterable[Any], clamp: dh.Clamp) -> dict[Any, dict[Any, int]]:
    """Totals in steps, by user and label, of rows of user, label and value."""
    totals: dict[Any, dict[Any, int]] = {}
    for who, label, value in rows:
        own = totals.setdefault(who, {})
        own[label] = own.get(label, 0) + round(Fraction(value) / clamp.step)
    return totals


def count_by_totals(totals: dict[Any, dict[Any, int]], clamp: dh.Clamp) -> tuple[int, ...]:
    """Each user once, at the total with the largest distance to the clamp; of two, the larger."""
    found = [0] * (len(clamp.starts) + 1)
    for own in totals.values():
        far = max(
            own.values(), key=lambda total: (max(total - clamp.most, clamp.least - total), total)
        )
        found[bisect_right(clamp.starts, far)] += 1
    return tuple(found)
