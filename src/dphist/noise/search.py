"""Searching whole numbers for the first one at which a condition turns true."""

from collections.abc import Callable


def first_true(holds: Callable[[int], bool], start: int = 0) -> int:
    """Return the smallest number from `start` on at which a condition is true, and stays true.

    The step doubles until the condition is true, and the last step is bisected: about twice the
    logarithm of the answer in calls.

    >>> first_true(lambda number: number**2 >= 1000)
    32
    """
    if holds(start):
        return start
    below, step = start, 1
    while not holds(below + step):
        below += step
        step *= 2
    above = below + step
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above
