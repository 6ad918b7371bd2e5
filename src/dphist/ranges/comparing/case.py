"""Histograms over ordered bins to compare on: errors of ranges, prefixes and rectangles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.data.binned_counts import BinnedCounts
from dphist.document import compared
from dphist.document.compared import (
    BLACK,
    BLUE,
    GRAY,
    GREEN,
    NOTHING,
    ORANGE,
    PURPLE,
    SKY,
    TOTAL,
    VERMILION,
    Case,
    Contender,
)
from dphist.document.options import Option
from dphist.errors import ColumnError, DataError, ParameterError
from dphist.foreign import read_columns
from dphist.parameters import Exact, privacy_parameter
from dphist.privacy import PrivacyUnit, PureDP
from dphist.ranges import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.ranges.comparing.published.dawa import dawa
from dphist.ranges.comparing.published.hb import hb
from dphist.ranges.comparing.published.mwem import mwem
from dphist.ranges.comparing.published.priv_tree import priv_tree
from dphist.ranges.comparing.published.privelet import privelet
from dphist.ranges.comparing.queries import Estimate, compute_squared_errors, random_ranges
from dphist.ranges.counts import load_counts
from dphist.ranges.mechanism import RangesMechanism
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.boxes import sum_boxes

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


_MOST_CELLS = 2**28


def read_bins(path: str | Path, side: int | None = None) -> IntArray:
    """Read counts of bins from a CSV file, which may be gzipped.

    Parameters
    ----------
    path : of a file with a column `count`, one bin a row; or with columns `row`, `col` and `count`,
        cells of a grid in any order, those without records left out.
    side : rows and columns of a grid (default: as many as occur).

    Returns
    -------
    (bins,) or (rows, columns) int64, records per bin.

    Raises
    ------
    InputFileError
        If the file cannot be read as CSV.
    ColumnError, DataError
        If a column is missing, or a value is not a whole number in its range.
    """
    columns = read_columns(Path(path))
    if "count" not in columns:
        raise ColumnError("the file must have a column count, or columns row, col and count")
    counts = _whole(columns["count"], "count")
    if not {"row", "col"} <= set(columns):
        if not len(counts):
            raise DataError("the file must have at least one bin")
        return counts
    places = [_whole(columns[name], name) for name in ("row", "col")]
    shape = tuple(int(place.max(initial=0)) + 1 if side is None else side for place in places)
    if any(place.max(initial=0) >= size for place, size in zip(places, shape, strict=True)):
        raise DataError(f"row and col must be from 0 to {max(shape) - 1}")
    if shape[0] * shape[1] > _MOST_CELLS:
        raise DataError(f"the grid must have at most {_MOST_CELLS} cells")
    grid = np.zeros(shape, np.int64)
    np.add.at(grid, (places[0], places[1]), counts)
    return grid


def _whole(texts: list[str], name: str) -> IntArray:
    if not all(text.isascii() and text.isdecimal() and len(text) <= 19 for text in texts):
        raise DataError(f"column {name} must hold whole numbers of at least 0")
    numbers = [int(text) for text in texts]
    if max(numbers, default=0) >= 2**62:
        raise DataError(f"column {name} must hold numbers below 2**62")
    return np.array(numbers, np.int64)


_ASKED = {
    "ranges": "all ranges of bins",
    "prefixes": "all ranges that begin at the first bin",
    "rectangles": "2,000 random boxes of bins",
}
_SECONDS_A_BIN = 3e-8
_TRIED = 64  # ranges that show whether they are sums of bins


class RangesCase(compared.Case):
    """Counts of bins, and the mechanisms for ranges."""

    def __init__(self, data: Any, opened: Any, delta: Any) -> None:
        shape = np.shape(opened)
        if not shape or 0 in shape:
            raise ParameterError("data", "must have at least one bin")
        self.counts = load_counts(opened, shape).counts
        """The exact counts, in the shape of the bins."""
        # No mechanism may change what the next one gets.
        self.counts.setflags(write=False)
        given = isinstance(data, BinnedCounts)
        self._sensitivity = data.sensitivity if given else 1
        super().__init__(data if given else self.counts, self.counts, delta)
        self._asked = ("ranges", "prefixes") if len(shape) == 1 else ("rectangles",)
        self.measures = tuple(
            compared.Measure(
                f"error of {name}",
                "records",
                f"The root of the mean squared error of a query, over {_ASKED[name]}.",
                root=True,
            )
            for name in self._asked
        )

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, bins and the unit."""
        bins = " x ".join(f"{size:,}" for size in self.counts.shape)
        return {
            "records": f"{int(self.counts.sum()):,}",
            "bins": bins,
            "sensitivity": str(self._sensitivity),
        }

    @property
    def digest(self) -> str:
        """Names the counts, their shape and the unit."""
        held = np.ascontiguousarray(self.counts, "<i8")
        stated = f"{self.counts.shape} {self._sensitivity}"
        return compared.compute_digest([held.tobytes(), stated.encode()])

    def list_known(self) -> Mapping[str, compared.Given]:
        """Bins and the bound, which are public; the number of records, which is not."""
        shape = self.counts.shape
        given = {
            "bins": compared.Given(shape[0] if len(shape) == 1 else shape),
            "sensitivity": compared.Given(self._sensitivity, always=True),
            "total": compared.Given(int(self.counts.sum()), compared.TOTAL),
        }
        return given if self.delta is None else {**given, "delta": compared.Given(self.delta)}

    def list_published(self) -> list[compared.Contender]:
        """Return all for as many axes."""

        return contenders(self, self.counts.shape, self._sensitivity)

    def run(self, mechanism: Any) -> compared.Run:
        """Return what releases the counts once."""
        if isinstance(mechanism, ForComparison):
            return compared.make_run(partial(mechanism.estimates, self.counts), self._errors)
        return compared.make_run(partial(mechanism.release, self.data), self._errors)

    def foresee(self, mechanism: Any) -> float | None:
        """Return what noise on each bin takes."""
        each = isinstance(mechanism, RangesMechanism)
        return _SECONDS_A_BIN * self.counts.size if each else None

    def _errors(self, value: Any) -> list[float | None]:
        squares = compute_squared_errors(self.counts, self._estimate(value))
        return [squares[name] for name in self._asked]

    def _estimate(self, value: Any) -> Estimate:
        """Return the bins, or the histogram itself if its ranges are not sums of them."""
        if isinstance(value, RangeHistogram):
            if value.counts.shape != self.counts.shape:
                raise ParameterError(
                    "mechanisms", "for ranges must release as many bins as they get"
                )
            return value if value.counts.ndim == 1 and not _is_sum(value) else value.counts
        bins = np.asarray(value)
        if bins.shape != self.counts.shape or bins.dtype.kind not in "iuf":
            raise ParameterError(
                "mechanisms", "for ranges must release a RangeHistogram, or an array of its bins"
            )
        return bins


def _is_sum(value: RangeHistogram) -> bool:
    sums: Any = sum_boxes(np.asarray(value.counts, np.float64))
    lo, hi = (ends[:_TRIED] for ends in random_ranges(len(value.counts)))
    return bool(np.allclose(value.count_bins(lo, hi), sums[hi] - sums[lo], rtol=1e-6, atol=1e-3))


COMPARING = compared.Comparing(
    title="Mechanisms for ranges",
    data="BinnedCounts, an array of counts",
    takes=lambda data: isinstance(data, BinnedCounts | np.ndarray | list | tuple),
    case=RangesCase,
    file=compared.DataFile(
        option=Option(
            "bins",
            "column count, a row per bin; or columns row,col,count of a grid: ranges",
            "FILE",
        ),
        read=read_bins,
    ),
)


PUBLISHED: dict[str, Estimating] = {"HB": hb, "DAWA": dawa, "MWEM": mwem, "PrivTree": priv_tree}
"""For comparison only; MWEM is told the number of records, as in its paper."""

_COLORS = {"HB": VERMILION, "DAWA": GREEN, "MWEM": PURPLE, "PrivTree": ORANGE}


def contenders(case: Case, bins: tuple[int, ...], sensitivity: int) -> list[Contender]:
    """Return all for a domain of this shape."""
    line = len(bins) == 1
    tree = HierarchicalTree
    found = [
        case.contender("LeafCounts", LeafCounts, GRAY),
        _make_published("Privelet", privelet, sensitivity, SKY),
        *(
            _make_published(name, one, sensitivity, _COLORS[name])
            for name, one in PUBLISHED.items()
            if _takes(name, bins)
        ),
    ]
    if line:
        uneven = partial(tree, branching=2, consistent=False)
        found.append(case.contender("H~ binary", uneven, BLUE, dashed=True))
    found.append(case.contender("H- binary", partial(tree, branching=2, nonnegative=False), BLUE))
    found.append(case.contender("HierarchicalTree", tree, GRAY, dashed=True))
    found.append(case.contender("AdaptiveTree", AdaptiveTree, BLACK))
    if line:
        prefix = partial(AdaptiveTree, workload="prefix")
        found.append(case.contender("AdaptiveTree, prefix", prefix, BLACK, dashed=True))
    return found


def _make_published(name: str, estimating: Estimating, sensitivity: int, color: str) -> Contender:
    told = TOTAL if name == "MWEM" else NOTHING

    def make(epsilon: object, _: object) -> ForComparison:
        return ForComparison(estimating, epsilon=epsilon, sensitivity=sensitivity)  # type: ignore[arg-type]

    return Contender(name, told, make, color, parameters="for comparison only")


def _takes(name: str, bins: tuple[int, ...]) -> bool:
    """Whether a published mechanism is for such a domain."""
    if name == "DAWA" and len(bins) == 2:  # along a Hilbert curve
        return bins[0] == bins[1] and bins[0] & (bins[0] - 1) == 0
    return len(bins) <= 2 or name == "PrivTree"
