"""ForComparison: a published mechanism for ranges that estimates, and never releases."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.parameters import Exact, privacy_parameter
from dphist.privacy import PrivacyUnit, PureDP

Estimating: TypeAlias = Callable[[IntArray, float, np.random.Generator], FloatArray]


@dataclass(frozen=True, slots=True, init=False)
class ForComparison:
    """A published mechanism, to be compared with and not to be released with.

    Its noise is in floating point, from a generator that is fresh in each run. It makes estimates
    of bins, no `dphist.Release`; `dphist.register` refuses it.

    Parameters
    ----------
    estimating : called with counts, epsilon and a generator of NumPy.
    epsilon : of the whole release, for a unit of `sensitivity` records.
    sensitivity : records that one protected unit adds or removes at most.
    """

    estimating: Estimating
    epsilon: Fraction
    sensitivity: int

    def __init__(self, estimating: Estimating, *, epsilon: Exact, sensitivity: int = 1) -> None:
        object.__setattr__(self, "estimating", estimating)
        object.__setattr__(self, "epsilon", privacy_parameter(epsilon, "epsilon"))
        object.__setattr__(self, "sensitivity", sensitivity)

    @property
    def guarantee(self) -> PureDP:
        """What its paper claims, with noise of real numbers."""
        return PureDP(self.epsilon, PrivacyUnit("record", self.sensitivity))

    def estimates(self, counts: IntArray) -> FloatArray:
        """Return estimates of the bins, in the shape of `counts`."""
        each = float(self.epsilon) / self.sensitivity
        return self.estimating(counts, each, np.random.default_rng())
