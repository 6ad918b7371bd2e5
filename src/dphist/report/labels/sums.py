"""What correlated noise means for readers who add counts up, or compare them."""

import math

from dphist.labels import ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.threshold.correlated_noise import CorrelatedNoise
from dphist.privacy.as_text import plain, up


def noise_in_common(mechanism: LabelsMechanism) -> CorrelatedNoise | None:
    """Return the law of noise that labels share in part; None where it is independent."""
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


def sums_in_words(mechanism: LabelsMechanism) -> str:
    """State the errors of sums of counts; empty where noise is independent.

    >>> mechanism = ThresholdHistogram(
    ...     epsilon="0.1", max_labels=9, labels=list(range(9)), noise="gaussian", correlated=True
    ... )
    >>> sums_in_words(mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'A part of the noise is the same for all labels, so it adds up in sums. Standard errors in
    records, and those of independent noise with the same guarantee: a count 10 (15); the difference
    of two counts 12.3 (21.3); the sum of all 9 counts 52 (45).'
    """
    noise = noise_in_common(mechanism)
    if noise is None or not isinstance(mechanism, ThresholdHistogram):
        return ""
    labels, users = len(mechanism.labels or ()), int(mechanism.count_cut_users)
    # The standard deviation of independent noise with the same guarantee.
    alone = float(noise.scale) * math.sqrt(
        (mechanism.changed_labels + users) / (float(mechanism.weight) + users)
    )
    errors = [
        ("a count", float(noise.scale), alone),
        ("the difference of two counts", deviation_of_difference(mechanism), 2**0.5 * alone),
        (f"the sum of all {labels:,} counts", noise.deviation_of_sum(labels), labels**0.5 * alone),
    ]
    said = "; ".join(
        f"{what} {plain(up(error, 3))} ({plain(up(other, 3))})" for what, error, other in errors
    )
    return (
        "A part of the noise is the same for all labels, so it adds up in sums. Standard errors in "
        f"records, and those of independent noise with the same guarantee: {said}."
    )


def sums_json(mechanism: LabelsMechanism) -> dict[str, float]:
    """Return variance and covariance of the noise of counts, for programs; empty if independent."""
    noise = noise_in_common(mechanism)
    if noise is None:
        return {}
    return {"variance": float(noise.scale) ** 2, "covariance": noise.covariance}
