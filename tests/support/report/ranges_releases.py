"""Universal releases that the tests of this folder share."""

import random
from collections.abc import Callable

import numpy as np

from dphist import AdaptiveTree, Axis, BinnedCounts, HierarchicalTree, LeafCounts, Release

HOSTILE = "<script>'x'</script>,$x_{1}$\"\x1b[2J"


def binned(counts: object, *axes: Axis, outside: tuple[int, ...] = (3, 2, 7)) -> BinnedCounts:
    names = ("below", "above", "null") if len(axes) == 1 else ("outside", "null")
    found = dict(zip(names, outside, strict=False))
    return BinnedCounts(np.array(counts, np.int64), axes, found)


def bell(bins: int, total: int) -> np.ndarray:
    heights = np.exp(-(((np.arange(bins) + 0.5) / bins * 6 - 3) ** 2))
    return np.floor(heights / heights.sum() * total).astype(np.int64)


def release_bins(mechanism: type, data: object, **parameters: object) -> Release:
    bins = data.bins if isinstance(data, BinnedCounts) else np.shape(data)  # type: ignore[call-overload]
    made = mechanism(bins=bins, **({"epsilon": 1} | parameters))
    return made.release(data, random.Random(1).randbytes)


HOURS = Axis.regular("2024-01-01T00:00", "2024-03-01T00:00", "1h", "start")
AGES = Axis.from_edges([0, 18, 65, 120], "age")
ENDLESS = Axis.from_edges([float("-inf"), 0, 1, 10, 1000, float("inf")], "amount")
ALL: dict[str, Callable[[], Release]] = {
    "ten": lambda: release_bins(AdaptiveTree, bell(10, 10_000)),
    "one": lambda: release_bins(AdaptiveTree, [50]),
    "many": lambda: release_bins(AdaptiveTree, bell(4096, 10**6), epsilon="0.1"),
    "hours": lambda: release_bins(HierarchicalTree, binned(bell(1440, 10**5), HOURS)),
    "ages": lambda: release_bins(LeafCounts, binned([100, 500, 80], AGES), sensitivity=5),
    "endless": lambda: release_bins(AdaptiveTree, binned([9, 90, 900, 90, 9], ENDLESS), epsilon=2),
    "gaussian": lambda: release_bins(AdaptiveTree, bell(100, 1000), epsilon=None, rho="0.01"),
    "noise": lambda: release_bins(LeafCounts, [0] * 300, epsilon="0.01"),
    "fitted": lambda: release_bins(HierarchicalTree, bell(50, 5000), nonnegative=False),
    "nodes": lambda: release_bins(HierarchicalTree, bell(50, 5000), consistent=False),
    "nothing": lambda: release_bins(AdaptiveTree, [0] * 9, epsilon=50),
    "map": lambda: release_bins(AdaptiveTree, np.outer(bell(100, 100), bell(60, 1000))),
    "dates and ages": lambda: release_bins(
        HierarchicalTree,
        binned(np.outer(bell(1440, 3000), [1, 5, 2]), HOURS, AGES, outside=(4, 0)),
    ),
    "three axes": lambda: release_bins(AdaptiveTree, np.full((2, 3, 5), 40)),
    "hostile": lambda: release_bins(
        AdaptiveTree, binned(bell(20, 500), Axis.regular(0, 20, 1, HOSTILE))
    ),
    "hostile map": lambda: release_bins(
        AdaptiveTree,
        binned(np.outer([5, 9], [7, 2, 1]), Axis.regular(0, 2, 1, HOSTILE), AGES, outside=(0, 0)),
    ),
}
