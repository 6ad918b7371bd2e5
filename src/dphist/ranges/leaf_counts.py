"""Every bin with noise of its own: the baseline (Hay et al. 2010, L~)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.mechanism import parameter
from dphist.parameters import Exact
from dphist.privacy import Guarantee
from dphist.privacy.losses import Losses
from dphist.ranges.budget import losses_of_exchange, losses_of_noise
from dphist.ranges.measuring import LeafCountsMeasuring, Noisy
from dphist.ranges.mechanism import BINS, EPSILON, RHO, SENSITIVITY, RangesMechanism
from dphist.release.mechanisms import savable
from dphist.release.range_histogram import Answers
from dphist.release.range_histogram.boxes import box_sums, sum_boxes


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class LeafCounts(LeafCountsMeasuring, RangesMechanism):
    """Noise on the count of each bin; a range is the sum of its bins.

    Parameters
    ----------
    epsilon, rho : number above 0; exactly one is required.
        Epsilon of pure DP, by two-sided geometric noise; or rho of zCDP, by Gaussian noise.
    bins : int or tuple of int
        Bins of the axis, or of each axis; public.
    sensitivity : int
        Records that one privacy unit (a person) can add or remove (default: 1).

    Guarantee
    ---------
    - Neighbors differ by adding or removing at most `sensitivity` records. No unit has more: you
      assert it, or `bin_counts(user=)` bounds users.
    - With `epsilon`: pure epsilon-DP. With `rho`: rho-zCDP.
    - Covered: the whole release.
    - Not covered: the time it takes, and bins or edges that were taken from the data.

    Notes
    -----
    Unbiased, so noisy counts may be negative. The error grows with the root of a range's bins. It
    is the smallest known for single bins of dense data, and large for long ranges.
    Source: Dwork, McSherry, Nissim, Smith 2006; Hay et al. 2010, sec. 4 (L~).

    >>> release = LeafCounts(epsilon=50, bins=4).release([2, 0, 10, 2])
    >>> release.value.count(0, 3)
    12
    """

    paper = "dwork2006"
    reference = (
        "C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in "
        "Private Data Analysis. Theory of Cryptography Conference (TCC), 2006."
    )

    epsilon: Fraction | None = parameter(**EPSILON)
    rho: Fraction | None = parameter(**RHO)
    bins: tuple[int, ...] = parameter(**BINS)
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        bins: int | tuple[int, ...],
        sensitivity: int = 1,
    ) -> None:
        self._hold_shared(epsilon, rho, bins, sensitivity)
        self.budget.check(Fraction(1))

    def privacy_losses(self) -> Losses:
        """Return the losses of a release: those of the noise on all counts."""
        return losses_of_noise(self.guarantee, self.sensitivity)

    def _losses_of_exchange(self, stated: Guarantee) -> Losses:
        return losses_of_exchange(self.guarantee, self.sensitivity)

    def answers(self, bins: NumberArray, noisy: Noisy) -> "BinAnswers":
        """Return sums of bins; errors of bins are independent."""
        return BinAnswers(bins, self.budget.variance(Fraction(1)))

    def _bin_width(self, answers: Answers, level: float) -> int:
        return self.budget.half_width(level)

    @property
    def description(self) -> str:
        """How a release is made."""
        return (
            "Bin counts (L~ of Hay et al. 2010). Each bin's count with "
            f"{self.law.distribution} noise of its own."
        )


@dataclass(frozen=True)
class BinAnswers(Answers):
    """Sums of bins with independent errors of one variance."""

    bins: NumberArray
    variance: float

    @cached_property
    def _sums(self) -> NumberArray:
        return sum_boxes(self.bins)

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return the sums of the boxes."""
        return box_sums(self._sums, lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors of the boxes."""
        sizes = np.prod([high - low for low, high in zip(lo, hi, strict=True)], axis=0)
        found: FloatArray = np.sqrt(self.variance * sizes)
        return found

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""
        return np.full(self.bins.shape, math.sqrt(self.variance))

    @property
    def are_independent(self) -> bool:
        """Whether each bin has noise of its own (yes)."""
        return True
