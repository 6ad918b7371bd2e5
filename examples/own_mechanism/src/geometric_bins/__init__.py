"""A mechanism of one's own for dphist: geometric noise on the counts of ordered bins."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

import dphist as dh
from dphist.mechanism import Intervals, provenance_of_unit
from dphist.noise import two_sided_geometric
from dphist.noise.for_tests import is_for_tests
from dphist.noise.magnitude import geometric_half_width
from dphist.parameters import check_level, positive_number, whole_number
from dphist.ranges.counts import load_counts
from dphist.ranges.leaf_counts import BinAnswers
from dphist.release.range_histogram import RangeHistogram


@dh.register
@dataclass(frozen=True, kw_only=True)
class GeometricBins:
    """Counts of ordered bins with geometric noise; negative ones become 0."""

    epsilon: Fraction = field(metadata={"meaning": "Privacy parameter of the whole release."})
    bins: int = field(metadata={"meaning": "Bins of the axis; public."})

    sensitivity = 1  # records that one protected unit can add or remove
    reference = "A. Ghosh, T. Roughgarden, M. Sundararajan. Universally Utility-Maximizing Privacy "
    reference += "Mechanisms. Symposium on Theory of Computing (STOC), 2009."
    description = "Geometric bins. Each bin's count with two-sided geometric noise, at least 0."

    def __post_init__(self):
        object.__setattr__(self, "epsilon", positive_number(self.epsilon, "epsilon"))
        object.__setattr__(self, "bins", whole_number(self.bins, "bins", 1, 10**6))
        if self.epsilon < Fraction(1, 10**6):
            raise dh.ParameterError("epsilon", "must be at least 1e-6")

    @property
    def guarantee(self):
        return dh.PureDP(self.epsilon, dh.PrivacyUnit("record", self.sensitivity))

    @property
    def noise_scale(self):
        return 1 / self.epsilon

    def release(self, data, /, source=None):
        counts = load_counts(data, (self.bins,))  # checks the shape and the numbers
        if counts.sensitivity > self.sensitivity:
            raise dh.BoundsError("the counts were made with a sensitivity above 1")
        noisy = {"bins": counts.counts + two_sided_geometric(self.epsilon, self.bins, source)}
        value = replace(self.decode(noisy), axes=counts.axes)
        tested, stated = is_for_tests(source, data), provenance_of_unit(counts)
        guarantee = self.guarantee
        return dh.Release(value, guarantee, self, noisy=noisy, provenance=stated, for_tests=tested)

    def decode(self, noisy, /):
        if set(noisy) != {"bins"} or len(noisy["bins"]) != self.bins:
            raise dh.ParameterError("noisy", "must hold the bins of a release")
        bins = np.maximum(noisy["bins"], 0)
        return RangeHistogram(bins, answers=BinAnswers(bins, self.expected_error() ** 2))

    def expected_error(self):
        return math.sqrt(0.5) / math.sinh(float(min(self.epsilon, 700)) / 2)  # of one bin

    def intervals(self, release, /, level=0.95):
        width, bins = geometric_half_width(self.epsilon, check_level(level)), release.value.counts
        return Intervals(np.maximum(bins - width, 0), bins + width, level)
