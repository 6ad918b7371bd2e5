"""The same counts for another audience: a release with more noise, made from one with less."""

from dphist.errors import Argument, ParameterError
from dphist.noise import Source
from dphist.noise.added import draw_added_geometric
from dphist.noise.for_tests import is_for_tests
from dphist.parameters import Exact, decimal_text, privacy_parameter
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree
from dphist.ranges.leaf_counts import LeafCounts
from dphist.release.maker import read_parameters
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release


def add_noise(release: Release, *, epsilon: Exact, source: Source | None = None) -> Release:
    """Return a release at a smaller epsilon, made from this one by adding noise.

    One release for a ministry at epsilon 2 and one for the public at 0.5, say. The one that is
    returned has exactly the law of one that was made from the data at `epsilon`. It is computed
    from `release` alone: no data are read.

    Guarantee
    ---------
    - Someone who has the returned release alone: `epsilon`-DP, as of any release of its mechanism.
    - Someone who has both, or any number of releases made from `release`: what `release` costs, and
      nothing more.
    - Several releases at `epsilon` together are not `epsilon`-DP, so an audience gets one.
    - A ledger was charged for `release`, and nothing is charged here.
    - Proof: `docs/understand/proofs/added_noise.md`.

    Parameters
    ----------
    release : of `LeafCounts` or `HierarchicalTree`, with an epsilon, which has geometric noise.
    epsilon : number above 0, below the epsilon of the release.
    source : callable, optional
        `source(n)` returns n random bytes. For tests only: the release says so.

    Returns
    -------
    Release
        Of the same mechanism with `epsilon`. Numbers of records in no bin are left out: those of
        `release` were made non-negative, which is another law.

    Raises
    ------
    ParameterError
        If noise of the release cannot be added to, or `epsilon` is not below its own.

    Examples
    --------
    >>> from dphist.ranges import LeafCounts
    >>> ministry = LeafCounts(epsilon=2, bins=3).release([400, 250, 90])
    >>> add_noise(ministry, epsilon="0.5").guarantee.epsilon
    Fraction(1, 2)
    """
    mechanism = _check_geometric(release)
    wanted = privacy_parameter(epsilon, "epsilon")
    had = mechanism.epsilon
    if had is None or wanted >= had:
        raise ParameterError(
            "epsilon",
            f"must be below that of the release, {mechanism.epsilon}",
            "lower " + Argument("epsilon") + ", or make a release from the data and pay for it",
        )
    made = type(mechanism)(**{**read_parameters(mechanism), "epsilon": wanted})
    share = made.share if isinstance(made, HierarchicalTree) else 1
    before, after = mechanism.budget.amount * share, made.budget.amount * share
    noisy = {
        name: counts + draw_added_geometric(before, after, counts.shape, source)
        for name, counts in (release.noisy or {"bins": release.value.counts}).items()
    }
    bins = made.decode(noisy).counts if isinstance(made, HierarchicalTree) else noisy.pop("bins")
    for found in noisy.values():
        found.flags.writeable = False
    value = RangeHistogram(bins, release.value.axes, answers=made.answers(bins, noisy))
    return Release(
        value,
        made.guarantee,
        made,
        max(round(value.count_bins((0,) * bins.ndim, bins.shape)), 0),
        noisy,
        provenance={**release.provenance, "added_to": decimal_text(had)},
        for_tests=release.for_tests or is_for_tests(source, release),
        presentation=release.presentation,
    )


def _check_geometric(release: Release) -> LeafCounts | HierarchicalTree:
    """Return the mechanism of a release to whose noise more can be added."""
    made = release.mechanism
    if not isinstance(made, LeafCounts | HierarchicalTree):
        fault = "must be of LeafCounts or HierarchicalTree: what others choose depends on noise"
    elif made.epsilon is None:
        fault = "has Gaussian noise, which was rounded: sums of rounded noise have another law"
    elif release.users is not None:
        fault = "carries how many users have how many records, with noise of their own"
    else:
        return made
    raise ParameterError(
        "release", fault, "make one from the data at each epsilon, and pay for each"
    )
