"""Today's best mechanism for universal histograms, chosen by what is public."""

from dphist.parameters import Exact
from dphist.universal.adaptive_tree import AdaptiveTree, Workload
from dphist.universal.mechanism import RangeMechanism


def best_range_mechanism(
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    bins: int | tuple[int, ...],
    workload: Workload = "ranges",
    sensitivity: int = 1,
) -> RangeMechanism:
    """Return the mechanism with the least error on the data of docs/ranges.md.

    Parameters
    ----------
    epsilon, rho, bins, workload, sensitivity
        As for `AdaptiveTree`.
    """
    return AdaptiveTree(
        epsilon=epsilon, rho=rho, bins=bins, workload=workload, sensitivity=sensitivity
    )
