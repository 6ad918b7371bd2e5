"""How sure the order of two released labels is, by how far their counts are apart.

It follows from the law of the noise alone, so it says nothing about the data.
"""

import math

from dphist.labels.mechanism import LEVEL, LabelsMechanism
from dphist.labels.threshold.correlated_noise import CorrelatedNoise
from dphist.labels.threshold.mechanism import ThresholdHistogram


def noise_in_common(mechanism: LabelsMechanism) -> CorrelatedNoise | None:
    """Return the law of noise that labels share in part; None if it is independent."""
    if not isinstance(mechanism, ThresholdHistogram) or not mechanism.correlated:
        return None
    noise = mechanism.noise_law()
    return noise if isinstance(noise, CorrelatedNoise) else None


def deviation_of_difference(mechanism: LabelsMechanism) -> float:
    """Return the standard deviation, in records, of the noise of the difference of two counts.

    Of Gaussian noise. A part that both have in common is not in the difference.
    """
    noise = noise_in_common(mechanism)
    own = float(mechanism.noise_scale) ** 2 - (noise.covariance if noise else 0)
    return math.sqrt(2 * own)


def chance_in_order(mechanism: LabelsMechanism, difference: float) -> float:
    """Return the least probability that the larger of two counts also has the larger noisy count.

    Parameters
    ----------
    difference : of the two counts, after bounding, in records; at least 0. Equal noisy counts
        count as a wrong order.

    Notes
    -----
    The difference of two Gumbel variables is logistic, and that of two Gaussian ones is Gaussian.
    For two-sided geometric noise, with a = exp(-rate), the difference of two draws is k with
    probability c**2 a**|k| (|k| + (1 + a**2) / (1 - a**2)), c = (1 - a) / (1 + a).

    >>> from dphist.labels import TopLabels
    >>> chance_in_order(TopLabels(k=10, epsilon="0.2", delta="1e-6"), 0)
    0.5
    """
    scale = float(mechanism.noise_scale)
    if mechanism.law.distribution == "Gumbel":
        return 1 / (1 + math.exp(-min(difference / scale, 700)))
    if mechanism.law.distribution == "Gaussian":
        # Noisy counts are rounded: differences below 1 may vanish.
        apart = max(difference - 1, 0) / deviation_of_difference(mechanism)
        return 1 - 0.5 * math.erfc(apart / 2**0.5)
    rate, steps = 1 / scale, math.floor(difference)
    a, gap = math.exp(-rate), -math.expm1(-rate)
    weight = (gap / (1 + a)) ** 2
    mean = (1 + a * a) / -math.expm1(-2 * rate)
    tail = weight * (math.exp(-rate * steps) * ((steps + mean) / gap + a / gap**2))
    return 1 - min(tail, 1.0)


def sure_difference(mechanism: LabelsMechanism, level: float = LEVEL) -> int:
    """Return the smallest difference of two counts, in records, that has this chance of order.

    >>> from dphist.labels import TopLabels
    >>> sure_difference(TopLabels(k=10, epsilon="0.2", delta="1e-6"))
    15
    """
    low, high = 0, 1
    while chance_in_order(mechanism, high) < level:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_in_order(mechanism, middle) >= level else (middle, high)
    return high
