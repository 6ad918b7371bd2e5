"""What every mechanism over ordered bins shares, beside measuring."""

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError, UnsupportedError
from dphist.mechanism import Intervals, Meaning, check_kind
from dphist.noise.law import ROUNDED, Drawing, NoiseLaw
from dphist.noise.repeatable import repeatable_source
from dphist.parameters import Exact, whole_number
from dphist.privacy import ZCDP, PureDP
from dphist.ranges.budget import check_guarantee
from dphist.ranges.measuring import Noisy, RangesMeasuring
from dphist.ranges.reference import random_boxes, uneven
from dphist.release.range_histogram import Answers, RangeHistogram
from dphist.release.range_histogram.boxes import box_sums, sum_boxes
from dphist.release.release import Release
from dphist.sentence import Sentence

EPSILON = Meaning(
    meaning="Privacy parameter of the whole release; smaller is more private.",
    not_given="The guarantee was asked for in rho.",
    symbol="E",
)
RHO = Meaning(
    meaning="Privacy parameter of the whole release; smaller is more private.",
    not_given="The guarantee was asked for in epsilon.",
    symbol="R",
)
BINS = Meaning(meaning="Bins of each axis; public.")
SENSITIVITY = Meaning(
    meaning=Sentence("{Records} that one protected unit can add or remove, at most."),
    symbol="M",
)

_TRIALS = 3  # each takes as long as a release

MOST_AXES = 8
MOST_BINS = 2**28
"""Beyond this a release outgrows the memory of the machines it is meant for."""


class RangesMechanism(RangesMeasuring):
    """What every mechanism says of its releases, from noisy and public numbers alone.

    A mechanism derives from this and from its measuring half.
    """

    __slots__ = ()

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise on a count that the whole budget pays for, in records."""
        return self.budget.scale(Fraction(1))

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        if self.rho is None:
            return NoiseLaw("two-sided geometric", self.noise_scale, Drawing.WHOLE)
        return NoiseLaw("Gaussian", self.noise_scale, Drawing.ROUNDED, ROUNDED)

    def restore(self, value: Any, noisy: Noisy) -> RangeHistogram:
        """Return a histogram that was read from a file, with what answers ranges of it.

        Raises
        ------
        ValueError
            If it has other bins than this mechanism.
        """
        check_kind(value, RangeHistogram)
        histogram: RangeHistogram = value
        if histogram.counts.shape != self.bins:
            raise ValueError("the bins are not those of the mechanism")
        return replace(histogram, answers=self.answers(histogram.counts, noisy))

    def expected_error(self, total: int = 100_000, *, prefixes: bool = False) -> float:
        """Return the error to expect of a range, in records, from public numbers alone.

        The root of the mean squared error over ranges with uniformly random ends, when the
        mechanism is tried on three public histograms: `total` records in uneven parts, always the
        same ones. The random bytes are a fixed stream, so the error is always the same number.

        Parameters
        ----------
        total : a public guess of the number of records.
        prefixes : whether the ranges begin at the first bin, of each axis.
        """
        records = whole_number(total, "total", 0)
        lo, hi = random_boxes(self.bins)
        if prefixes:
            lo = [np.zeros_like(start) for start in lo]
        return self._try_out(records, (lo, hi), _TRIALS)

    def _try_out(
        self, records: int, boxes: tuple[list[IntArray], list[IntArray]], trials: int
    ) -> float:
        """Return the root of the mean squared error over boxes of some public histograms."""
        lo, hi = boxes
        low, high = (ends[0] if len(ends) == 1 else tuple(ends) for ends in (lo, hi))
        source = repeatable_source()
        squares = []
        for number in range(trials):
            public = uneven(self.bins, records, number)
            exact = box_sums(sum_boxes(public), lo, hi)
            off = self.release(public, source).value.count_bins(low, high) - exact
            squares.append(np.mean(np.square(off.astype(np.float64))))
        return float(np.sqrt(np.mean(squares)))

    def quick_error(self, total: int) -> float:
        """Return about the `expected_error`, from the first of its trials alone."""
        return self._try_out(whole_number(total, "total", 0), random_boxes(self.bins), 1)

    def error_after_cut(self, noise: float, total: int, kept: int) -> float:
        """Return the error to expect of a range, in records, where a bound dropped some of them.

        A range is taken to lose the same share as all records.

        Parameters
        ----------
        noise : the error to expect of the records that are kept, as of `expected_error`.
        total, kept : public numbers of records, before and after the bound.
        """
        before, after = whole_number(total, "total", 0), whole_number(kept, "kept", 0)
        lo, hi = random_boxes(self.bins)
        whole = uneven(self.bins, before, 0)
        squares = np.square(box_sums(sum_boxes(whole), lo, hi).astype(np.float64))
        bias = (1 - after / before) * math.sqrt(float(squares.mean())) if before else 0.0
        return math.hypot(noise, bias)

    def intervals(self, release: Release, level: float = 0.95) -> Intervals:
        """Return bounds on the true count of each bin, for each bin by itself.

        Where a bin is a single noisy count, as of `LeafCounts`, they reach as far as the noise does
        with probability `level`. A bin inferred from several noisy counts has an error that is
        nearly normal: its bounds are approximate, and reach the normal quantile of `level` in
        standard errors to both sides. `RangeHistogram.interval` has the bars of 95 % of any range.

        Raises
        ------
        ParameterError
            If `level` is not above 0 and below 1, or the release is not one of this kind of
            mechanism.
        UnsupportedError
            If its histogram was made by hand.
        """
        self._check_asked(release, level)
        bins, answers = release.value.counts, release.value.answers
        if answers is None:
            raise UnsupportedError("the histogram was made by hand; release one with a mechanism")
        width = self._bin_width(answers, level)
        return Intervals(bins - width, bins + width, level)

    def _bin_width(self, answers: Answers, level: float) -> FloatArray | int:
        """Return how far bounds on the count of each bin reach."""
        return NormalDist().inv_cdf((1 + level) / 2) * answers.bin_errors()

    def _hold_shared(
        self, epsilon: Exact | None, rho: Exact | None, bins: Any, sensitivity: int
    ) -> None:
        """Check and set the fields that all mechanisms have."""
        held = check_guarantee(epsilon, rho)
        self._hold(
            epsilon=held.epsilon if isinstance(held, PureDP) else None,
            rho=held.rho if isinstance(held, ZCDP) else None,
            bins=check_bins(bins),
            sensitivity=whole_number(sensitivity, "sensitivity", 1),
        )


def check_bins(bins: Any) -> tuple[int, ...]:
    """Return the number of bins of each axis.

    >>> check_bins(4096), check_bins((256, 256))
    ((4096,), (256, 256))
    """
    sizes = tuple(bins) if isinstance(bins, tuple | list) else (bins,)
    if len(sizes) == 0:
        raise ParameterError("bins", "must be a whole number, or a tuple of one for each axis")
    if len(sizes) > MOST_AXES:
        raise ParameterError("bins", f"must have at most {MOST_AXES} axes")
    checked = tuple(whole_number(size, "bins", 1, MOST_BINS) for size in sizes)
    if math.prod(checked) > MOST_BINS:
        raise ParameterError("bins", f"must be at most {MOST_BINS} in all")
    return checked
