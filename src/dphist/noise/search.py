"""Searching whole numbers for the first one at which a condition turns true."""

import math
from collections.abc import Callable


def first_true(holds: Callable[[int], bool], likely: float = 0.0) -> int:
    """Return the least integer from 0 on at which a condition that stays true is true.

    Parameters
    ----------
    likely : a guess, where to look first; it changes the time this takes, not the result.

    >>> first_true(lambda number: number**2 >= 1000), first_true(lambda number: number > 4, 900)
    (32, 5)
    """
    if holds(0):
        return 0
    above, below, step = max(math.ceil(likely), 1) if likely < 2**62 else 1, 0, 1
    if holds(above):
        while above - step > 0 and holds(above - step):
            above -= step
            step *= 2
        below = max(above - step, 0)
    else:
        below = above
        while not holds(below + step):
            below += step
            step *= 2
        above = below + step
    while above - below > 1:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle
    return above
