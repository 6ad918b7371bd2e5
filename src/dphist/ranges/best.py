"""Today's best mechanism for universal histograms, chosen by what is public."""

from dphist.parameters import Exact
from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree, Workload
from dphist.ranges.mechanism import RangesMechanism


def best_range_mechanism(
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    bins: int | tuple[int, ...],
    workload: Workload = "ranges",
    sensitivity: int = 1,
) -> RangesMechanism:
    """Return the mechanism with the least error on the data of docs/ranges.md.

    Parameters
    ----------
    epsilon, rho, bins, workload, sensitivity
        As for `AdaptiveTree`.
    """
    return AdaptiveTree(
        epsilon=epsilon, rho=rho, bins=bins, workload=workload, sensitivity=sensitivity
    )
