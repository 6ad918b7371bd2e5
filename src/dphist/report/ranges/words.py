"""What a histogram over ranges promises, in sentences.

As in `dphist.document.guarantee_words`: functions of parameters and released values.
"""

from dphist.document import guarantee_words as words
from dphist.document.delta_words import UNKNOWN, Number
from dphist.document.totals import USUAL_DELTA, total_in_words
from dphist.privacy import ZCDP, ApproxDP, Guarantee, PrivacyUnit, PureDP, Target
from dphist.ranges import AdaptiveTree, HierarchicalTree
from dphist.release.maker import Maker
from dphist.release.range_histogram import RangeHistogram
from dphist.report.ranges.axis_texts import axis_text, short_edges


def in_epsilon(guarantee: Guarantee) -> PureDP | ApproxDP:
    """Return the guarantee in epsilon; for zCDP, what it implies at delta 1e-6.

    >>> in_epsilon(ZCDP("0.1"))
    ApproxDP(epsilon=2.14193892839, delta=1e-6)
    """
    if isinstance(guarantee, PureDP | ApproxDP):
        return guarantee
    return guarantee.to_approx_dp(USUAL_DELTA)


def promise_in_words(
    guarantee: Guarantee,
    unit: words.Contribution,
    number: Number = UNKNOWN,
    total: Target | None = None,
) -> str:
    """Say what the guarantee means to a person who is responsible for the release.

    Parameters
    ----------
    total : the guarantee in epsilon that is stated; by default what `guarantee` implies.
    """
    total = total or Target(in_epsilon(guarantee))
    told = total_in_words(total, unit, number, guarantee)
    if not isinstance(guarantee, ZCDP):
        return told
    return f"The release satisfies {guarantee}, which implies {total}. {told}"


def neighbors_in_words(sensitivity: int, unit: PrivacyUnit | None = None) -> str:
    """State which data are neighbors; `unit` is whose records were bounded, if they were."""
    if sensitivity == 1 and unit is None:
        return (
            "D and D′ are neighbors if adding or removing one record turns one into the other. "
            "Moving a record to another bin removes one and adds one, which costs twice the "
            "epsilon."
        )
    return words.neighbors_in_words(sensitivity, unit)


def limits_in_words(unit: words.Contribution, histogram: RangeHistogram) -> list[tuple[str, str]]:
    """Say what the guarantee does not cover: what it is about, and how."""
    told = {
        "Errors of the data.": "Errors describe the noise added here, not how the data were "
        "gathered, sampled or cleaned.",
    }
    public = (
        "The edges." if histogram.has_edges else "The number of bins.",
        "They are published, and must be fixed without looking at the data. If they were taken "
        "from the data, the guarantee does not cover what they reveal.",
    )
    return [public] + [(name, told.get(name, how)) for name, how in words.limits_in_words(unit)]


def axes_in_words(histogram: RangeHistogram) -> str:
    """Say what is divided into bins.

    >>> import numpy as np
    >>> axes_in_words(RangeHistogram(np.zeros((2, 3), np.int64)))
    'axis 1, 2 bins; axis 2, 3 bins'
    """
    if not histogram.has_edges and histogram.bins.ndim == 1:
        return "numbered from 0"
    described = []
    for axis, bins in enumerate(histogram.bins.shape):
        text = axis_text(histogram, axis)
        if histogram.has_edges:
            first, last = short_edges(histogram.edges[axis][[0, -1]])
            text += f" from {first} to {last}"
        # The number of bins of a single axis stands before this text already.
        number = f", {bins:,} bin{'s'[: bins > 1]}" if histogram.bins.ndim > 1 else ""
        described.append(text + number)
    return "; ".join(described)


def names_in_words(histogram: RangeHistogram) -> str:
    """Name all axes.

    >>> import numpy as np
    >>> names_in_words(RangeHistogram(np.zeros((2, 3, 4), np.int64)))
    'axis 1, axis 2 and axis 3'
    """
    *names, last = (axis_text(histogram, axis) for axis in range(histogram.bins.ndim))
    return f"{', '.join(names)} and {last}" if names else last


def errors_in_words(mechanism: Maker) -> str:
    """Say what errors mean and what determines them."""
    start = (
        "The number after ± is 1.96 standard errors. The true number is within that distance in "
        "about 95 % of releases or more, for each number by itself. "
    )
    if isinstance(mechanism, AdaptiveTree):
        return (
            f"{start}The error follows from the noisy counts and from their noise. It assumes "
            "nothing about how records are spread over bins that were counted together. There the "
            "error is as large as the count of all these bins allows."
        )
    if isinstance(mechanism, HierarchicalTree) and mechanism.nonnegative:
        return (
            f"{start}For estimates that may be negative, the mechanism alone determines the error. "
            "It is increased by as much as making the estimates non-negative changed them."
        )
    return f"{start}The mechanism alone determines the error."
