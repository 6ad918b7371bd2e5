"""Histograms over ordered bins to compare on: errors of ranges, prefixes and rectangles."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.data.binned_counts import BinnedCounts
from dphist.data.open_data import open_bins
from dphist.errors import ParameterError
from dphist.lab.comparing.case import Case, Measure, digest_of
from dphist.lab.comparing.contender import TOTAL, Contender
from dphist.lab.comparing.making import Given
from dphist.lab.comparing.measuring import Run
from dphist.lab.comparing.ranges.contenders import contenders
from dphist.ranges.comparing.for_comparison import ForComparison
from dphist.ranges.comparing.queries import Estimate, random_ranges, squared_errors
from dphist.ranges.counts import load_counts
from dphist.ranges.mechanism import RangesMechanism
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.boxes import summed

_ASKED = {
    "ranges": "all ranges of bins",
    "prefixes": "all ranges that begin at the first bin",
    "rectangles": "2,000 random boxes of bins",
}
_SECONDS_A_BIN = 3e-8
_TRIED = 64  # ranges that show whether they are sums of bins


class RangesCase(Case):
    """Counts of bins, and the mechanisms for ranges."""

    kind = "ranges"

    def __init__(self, counts: Any, delta: Any = None) -> None:
        shape = counts.bins if isinstance(counts, BinnedCounts) else np.shape(counts)
        if not shape or 0 in shape:
            raise ParameterError("data", "must have at least one bin")
        self._loaded = open_bins(load_counts, counts, shape)
        # No mechanism may change what the next one gets.
        self._loaded.counts.setflags(write=False)
        self.data = counts if isinstance(counts, BinnedCounts) else self._loaded.counts
        self._delta = delta
        asked = ("ranges", "prefixes") if len(shape) == 1 else ("rectangles",)
        self.measures = tuple(
            Measure(
                f"error of {name}",
                "records",
                f"The root of the mean squared error of a query, over {_ASKED[name]}.",
                root=True,
            )
            for name in asked
        )

    @property
    def counts(self) -> IntArray:
        """The exact counts, in the shape of the bins."""
        return self._loaded.counts

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, bins and the unit."""
        bins = " x ".join(f"{size:,}" for size in self.counts.shape)
        return {
            "records": f"{int(self.counts.sum()):,}",
            "bins": bins,
            "sensitivity": str(self._loaded.sensitivity),
        }

    @property
    def digest(self) -> str:
        """Names the counts, their shape and the unit."""
        held = np.ascontiguousarray(self.counts, "<i8")
        stated = f"{self.counts.shape} {self._loaded.sensitivity}"
        return digest_of([held.tobytes(), stated.encode()])

    def known(self) -> Mapping[str, Given]:
        """Bins and the bound, which are public; the number of records, which is not."""
        shape = self.counts.shape
        given = {
            "bins": Given(shape[0] if len(shape) == 1 else shape),
            "sensitivity": Given(self._loaded.sensitivity, always=True),
            "total": Given(int(self.counts.sum()), TOTAL),
        }
        return given if self._delta is None else {**given, "delta": Given(self._delta)}

    def published(self) -> list[Contender]:
        """Return all for as many axes."""
        return contenders(self, self.counts.shape, self._loaded.sensitivity)

    def run(self, mechanism: Any) -> Run:
        """Return what releases the counts once."""

        def once() -> tuple[list[float | None], float]:
            begun = time.perf_counter()
            if isinstance(mechanism, ForComparison):
                released: Any = mechanism.estimates(self.counts)
            else:
                released = mechanism.release(self.data)
            seconds = time.perf_counter() - begun
            squares = squared_errors(self.counts, self._estimate(released))
            return [squares[one.name.removeprefix("error of ")] for one in self.measures], seconds

        return once

    def foreseen(self, mechanism: Any) -> float | None:
        """Return what noise on each bin takes."""
        each = isinstance(mechanism, RangesMechanism)
        return _SECONDS_A_BIN * self.counts.size if each else None

    def _estimate(self, released: Any) -> Estimate:
        """Return the bins, or the histogram itself if its ranges are not sums of them."""
        value = getattr(released, "value", released)
        if isinstance(value, RangeHistogram):
            if value.bins.shape != self.counts.shape:
                raise ParameterError(
                    "mechanisms", "for ranges must release as many bins as they get"
                )
            return value if value.bins.ndim == 1 and not _is_sum(value) else value.bins
        bins = np.asarray(value)
        if bins.shape != self.counts.shape or bins.dtype.kind not in "iuf":
            raise ParameterError(
                "mechanisms", "for ranges must release a RangeHistogram, or an array of its bins"
            )
        return bins


def _is_sum(value: RangeHistogram) -> bool:
    sums: Any = summed(np.asarray(value.bins, np.float64))
    lo, hi = (ends[:_TRIED] for ends in random_ranges(len(value.bins)))
    return bool(np.allclose(value.count(lo, hi), sums[hi] - sums[lo], rtol=1e-6, atol=1e-3))
