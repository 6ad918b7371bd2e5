"""What the noise of `ThresholdHistogram` does: how far it reaches, and which labels it shows."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dphist.data.weight import to_records
from dphist.errors import ParameterError
from dphist.labels.answers import gaussian_reach, geometric_reach
from dphist.labels.sums import SumAnswers
from dphist.labels.threshold.bounded_noise import OptimalNoise, TruncatedNoise
from dphist.labels.threshold.correlation import CorrelatedNoise
from dphist.labels.threshold.law import gaussian_delta, geometric_delta, truncated_delta
from dphist.labels.threshold.measuring import ThresholdMeasuring
from dphist.noise.law import Drawing, NoiseLaw
from dphist.noise.search import first_true
from dphist.parameters import Exact, check_level, decimal_text, exact_number, whole_number


def find_largest_error(mechanism: ThresholdMeasuring) -> float | None:
    """Return how far noise changes a count at most, in records; None if noise has no end."""
    noise = mechanism.noise_law()
    if not isinstance(noise, TruncatedNoise | OptimalNoise):
        return None
    return to_records(noise.largest, mechanism.step)


def find_law(mechanism: ThresholdMeasuring) -> NoiseLaw:
    """Return the law of the noise on each count of a label, in records."""
    noise = mechanism.noise_law()
    if isinstance(noise, CorrelatedNoise):
        form = "in part the same for all labels"
        return NoiseLaw("Gaussian", mechanism.noise_scale, Drawing.SHARED, form)
    law, step = noise.law, mechanism.step
    if step is None:
        return law
    fine = f"multiples of {decimal_text(step)}"
    form = f"rounded to {fine}" if law.drawing is Drawing.ROUNDED else f"in {fine}"
    largest_error = find_largest_error(mechanism)
    if largest_error is not None:
        form += f", from -{largest_error:,} to {largest_error:,}"
    return replace(law, scale=mechanism.noise_scale, form=form, step=step)


def compute_reach(mechanism: ThresholdMeasuring, labels: int, level: float) -> float:
    """Return how far the noise of a sum of counts reaches, in steps; see `reach_of_sum`."""
    noise = mechanism.noise_law()
    if isinstance(noise, OptimalNoise):
        return noise.reach_of_sum(labels, level)
    if mechanism.noise == "gaussian":
        return gaussian_reach(noise.rms_of_sum(labels), labels, level)
    scale = mechanism.most_steps / mechanism.epsilon
    return geometric_reach(scale, labels, level)  # truncated noise has lower moments


def compute_reached_delta(mechanism: ThresholdMeasuring) -> Fraction:
    """Return the delta that the threshold, or where noise ends, really has; see `reached_delta`."""
    threshold, noise = mechanism.threshold_in_steps, mechanism.noise_law()
    most = mechanism.most_steps
    if mechanism.delta is None:
        return Fraction(0)
    if isinstance(noise, TruncatedNoise):
        ends = noise.rate, noise.largest, mechanism.delta, mechanism.changed_labels, most
        return truncated_delta(*ends)
    if threshold is None or mechanism.noise == "optimal":  # which uses all of it
        return mechanism.delta
    bounds = (mechanism.delta, mechanism.max_labels, most)
    scale = most / mechanism.epsilon
    if isinstance(threshold, Fraction):
        return gaussian_delta(scale, threshold, *bounds)
    return geometric_delta(1 / scale, threshold, *bounds)


def to_whole_steps(count: Exact, step: Fraction | None) -> int:
    """Return a count, in records, in whole steps of weights, rounded down."""
    if step is None:
        return whole_number(count, "count", 0)
    held = exact_number(count, "count")
    if held < 0:
        raise ParameterError("count", "must be at least 0")
    return math.floor(held / step)


def compute_chance(mechanism: ThresholdMeasuring, steps: int) -> float:
    """Return the probability with which a label of this count, in steps, is released."""
    threshold = mechanism.threshold_in_steps
    if threshold is None:
        return 1.0
    return mechanism.noise_law().chance_above(float(threshold - steps))


def find_likely_count(mechanism: ThresholdMeasuring, chance: float) -> float:
    """Return the least count, in records, released with this probability or more."""
    check_level(chance, "chance")
    found = first_true(lambda steps: compute_chance(mechanism, steps) >= chance)
    return to_records(max(found, 1), mechanism.step)


def list_sum_answers(mechanism: ThresholdMeasuring) -> Mapping[str, SumAnswers]:
    """Return what is said of the sums of each column that was summed."""
    summed = mechanism._sums
    if summed is None:
        return {}
    law, rounded = mechanism.noise_law(), mechanism.noise == "gaussian"
    return {
        name: SumAnswers(summed.make_noise(clamp), law, rounded) for name, clamp in summed.columns
    }
