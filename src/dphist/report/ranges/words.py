"""What a universal release promises, in sentences: functions of parameters and released values."""

import math
from typing import Any

from dphist.privacy import ZCDP, ApproxDP, Guarantee, PureDP, Target
from dphist.privacy.as_text import short_exact
from dphist.ranges import AdaptiveTree
from dphist.release.range_histogram import RangeHistogram
from dphist.report import words
from dphist.report.delta_words import UNKNOWN, Number
from dphist.report.guarantees import USUAL_DELTA, total_in_words
from dphist.report.ranges.axis_texts import axis_text, short_edges
from dphist.report.ranges.rows import Row


def stated(guarantee: Guarantee) -> PureDP | ApproxDP:
    """Return the guarantee in epsilon that people are told: of zCDP what it implies at 1e-6.

    >>> stated(ZCDP("0.1"))
    ApproxDP(epsilon=2.14193892839, delta=1e-6)
    """
    if isinstance(guarantee, PureDP | ApproxDP):
        return guarantee
    return guarantee.to_approx_dp(USUAL_DELTA)


def promise_in_words(
    guarantee: Guarantee, unit: str, number: Number = UNKNOWN, target: Target | None = None
) -> str:
    """Say what the guarantee means to a person who must answer for the release.

    Parameters
    ----------
    target : what the mechanism was calibrated to cost, if it was.
    """
    total = Target(stated(guarantee)) if target is None else target
    told = total_in_words(total, unit, number, guarantee)
    if not isinstance(guarantee, ZCDP):
        return told
    return f"The release satisfies {guarantee}, which implies {total}. {told}"


def guarantee_in_short(guarantee: Guarantee) -> str:
    """Name the guarantee by its parameter.

    >>> guarantee_in_short(ZCDP("0.1")), guarantee_in_short(PureDP(1))
    ('ρ = 0.1', 'ε = 1')
    """
    if isinstance(guarantee, ZCDP):
        return f"ρ = {short_exact(guarantee.rho)}"
    return words.guarantee_in_short(guarantee)


def guarantee_kind(guarantee: Guarantee) -> str:
    """Name the kind of guarantee without its parameters."""
    if isinstance(guarantee, ZCDP):
        return "zero-concentrated differential privacy"
    return words.guarantee_kind(guarantee)


def neighbours_in_words(sensitivity: int, unit: str | None = None) -> str:
    """State the neighbouring relation; `unit` is who was bounded, if anybody was."""
    if sensitivity == 1 and unit is None:
        return (
            "D and D′ are neighbours if one of them is the other with one record added or "
            "removed. A record that moves to another bin is one removed and one added, and costs "
            "twice as much epsilon."
        )
    return words.neighbours_in_words(sensitivity, unit)


def limits_in_words(unit: str, histogram: RangeHistogram) -> list[tuple[str, str]]:
    """Say what the guarantee does not cover: what it is about, and how."""
    told = {
        "Errors of the data.": "Errors describe the noise added here, not how the data were "
        "gathered, sampled or cleaned.",
    }
    public = (
        "The edges." if histogram.axes is not None else "The number of bins.",
        "They are published, and must be fixed without a look at the data; the guarantee does not "
        "cover what edges or numbers that were taken from the data reveal.",
    )
    return [public] + [(name, told.get(name, how)) for name, how in words.limits_in_words(unit)]


def axes_in_words(histogram: RangeHistogram) -> str:
    """Say what is divided into bins.

    >>> import numpy as np
    >>> axes_in_words(RangeHistogram(np.zeros((2, 3), np.int64)))
    'axis 1, 2 bins; axis 2, 3 bins'
    """
    if histogram.axes is None and histogram.bins.ndim == 1:
        return "numbered from 0"
    described = []
    for axis, bins in enumerate(histogram.bins.shape):
        text = axis_text(histogram, axis)
        if histogram.axes is not None:
            first, last = short_edges(histogram.edges[axis][[0, -1]])
            text += f" from {first} to {last}"
        # Of a single axis the number stands before, and need not be said twice.
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


def count_text(count: float) -> str:
    """Write an estimate of a count: whole, or as least squares give it, to a tenth.

    >>> count_text(1234), count_text(-0.25)
    ('1,234', '-0.2')
    """
    return f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"


def error_text(error: float) -> str:
    """Write how far off a count may be, rounded up to two digits, and to 0.01.

    >>> error_text(27.4), error_text(123_456.0), error_text(1.25), error_text(0.0)
    ('28', '130,000', '1.3', '0.01')
    """
    if not error > 0.01:
        return "0.01"
    step = 10.0 ** (math.floor(math.log10(error)) - 1)
    rounded = math.ceil(error / step - 1e-9) * step
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.2g}"


def counted(row: Row) -> str:
    """Write a count with its error.

    >>> counted(Row("", "", 336_776, 27.4))
    '336,776 ± 28'
    """
    return f"{count_text(row.count)} ± {error_text(row.error)}"


def share_in_words(share: float) -> str:
    """Say what a quantile means.

    >>> share_in_words(0.05)
    '5 % below, 95 % not'
    """
    return f"{100 * share:g} % below, {100 - 100 * share:g} % not"


def errors_in_words(mechanism: Any) -> str:
    """Say what errors mean, and where they come from."""
    start = (
        "What stands after ± is 1.96 standard errors: for each number by itself, the true one is "
        "within it in about 95 % of releases or more. "
    )
    if isinstance(mechanism, AdaptiveTree):
        return (
            f"{start}It follows from the noisy counts that were taken and from their noise, and "
            "assumes nothing of how records lie within stretches that were counted as one: there "
            "it is as wide as what may lie in them."
        )
    if getattr(mechanism, "nonnegative", False):
        return (
            f"{start}It is known from the mechanism for estimates before they were made "
            "non-negative, and is wider by what that changed."
        )
    return f"{start}It is known from the mechanism alone."
