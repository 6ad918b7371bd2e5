"""The best number of children of a node, from public parameters."""

import math

FEW = 2
MANY = 64  # with more siblings a tree is close to plain bins; limits the search


def best_branching(bins: tuple[int, ...], gaussian: bool) -> int:
    """Return the number of children along each axis with the smallest predicted error.

    Parameters
    ----------
    bins : bins of each axis.
    gaussian : whether noise is Gaussian: its variance grows with the number of levels, that of
        geometric noise with the square.

    Notes
    -----
    For one axis, the mean variance of all ranges under least squares, proportional to
    (b - 1) h**3 - 2 (b + 1) h**2 / 3 for h levels below the root (Qardaji, Yang, Li 2013); with
    Gaussian noise one factor h less. For more axes a box consists mostly of nodes along its
    surface, about (b - 1) side**(axes - 1) of a level with `side` nodes along an axis, and the
    predicted variance is that of their sum. Of branchings within 15 % the smallest is taken, since
    more levels help least squares and sparse data. Root and constants are omitted.

    >>> best_branching((4096,), gaussian=False), best_branching((4096,), gaussian=True)
    (16, 4)
    """
    most = max(FEW, min(MANY, max(bins)))
    foreseen = {b: _foreseen(bins, b, gaussian) for b in range(FEW, most + 1)}
    slack = 1.0 if len(bins) == 1 else 1.15
    return next(b for b, cost in foreseen.items() if cost <= slack * min(foreseen.values()))


def _foreseen(bins: tuple[int, ...], branching: int, gaussian: bool) -> float:
    height = 0
    while branching**height < max(bins):
        height += 1
    each = height if gaussian else height**2
    if len(bins) == 1:
        return each * ((branching - 1) * height - 2 * (branching + 1) / 3)
    sizes = sorted(bins)
    nodes = 0.0
    for level in range(1, height + 1):
        sides = [math.ceil(size / branching ** (height - level)) for size in sizes]
        whole = math.prod(sides)
        nodes += sum((branching - 1) * whole / side for side in sides if side > 1)
    return each * nodes
