"""RangeHistogram: released bins of an ordered domain, and the answers they give."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray, NumberArray
from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError
from dphist.release.range_histogram.boxes import checked_boxes
from dphist.release.range_histogram.picture import ERRORS, band

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_OUTSIDE_ONE = ("below", "above", "null")
_OUTSIDE_MORE = ("outside", "null")


class Answers(Protocol):
    """How a mechanism answers ranges; ends are checked, one array an axis, of one shape (q,)."""

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return (q,) estimates of the records in each box."""

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return (q,) standard errors of these, in records."""

    def interval(self, lo: list[IntArray], hi: list[IntArray]) -> tuple[NumberArray, NumberArray]:
        """Return both ends of (q,) intervals of 95 %; 1.96 errors to either side if not told."""
        return band(self.count(lo, hi), ERRORS * self.error(lo, hi))

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeHistogram:
    """A released histogram over one or more ordered axes. Not secret.

    Attributes
    ----------
    bins : (bins,) or (a, b, ...) int64 or float64
        Estimates of the records in each bin. Whole numbers unless the mechanism was asked for
        plain least squares.
    axes : tuple of Axis, or None
        The public edges, where the data came with them.
    outside : mapping of str to int
        Released counts of what is in no bin, where the data came with them: ``below``,
        ``above`` and ``null``; in several axes ``outside`` and ``null``.

    answers : what answers ranges of it, or None for one made by hand.

    Notes
    -----
    All methods are post-processing and cost nothing.
    """

    bins: NumberArray
    axes: tuple[Axis, ...] | None = None
    outside: Mapping[str, int] = field(default_factory=dict)
    answers: Answers | None = None

    def __post_init__(self) -> None:
        self.bins.flags.writeable = False

    def __repr__(self) -> str:
        size = " x ".join(f"{size:,}" for size in self.bins.shape)
        return f"RangeHistogram({size} bins)"

    def count(self, lo: Any, hi: Any) -> Any:
        """Return how many records lie in bins `lo`, ..., `hi` - 1.

        Parameters
        ----------
        lo, hi : int or arrays of int; in several axes tuples of these, one an axis
            ``0 <= lo <= hi <= bins``, half-open.

        Returns
        -------
        int or float, or an array of int64 or float64, records.

        Raises
        ------
        ParameterError
            If `lo` and `hi` are not such places.
        """
        return self._asked("count", lo, hi)

    def error(self, lo: Any, hi: Any) -> Any:
        """Return the standard error of `count(lo, hi)`, in records, known from the mechanism.

        1.96 of them to either side of the count are a bar of 95 %, for each range by itself. Of
        least squares the error is exact. Where estimates were made non-negative, it is that of
        the estimate before, which on sparse data is larger than the true one. Of an adaptive
        tree, 1.96 of them reach to the farther end of `interval`.

        Parameters
        ----------
        lo, hi
            As for `count`.

        Returns
        -------
        float or array of float64, records.
        """
        return self._asked("error", lo, hi)

    def interval(self, lo: Any, hi: Any) -> tuple[Any, Any]:
        """Return where the true `count(lo, hi)` lies with 95 %, for each range by itself.

        Of most mechanisms it is 1.96 standard errors to either side, cut off at 0, or at the count
        where that is negative. Of an adaptive tree it assumes nothing of how the records lie:
        it begins 1.96 standard errors below what must lie in the range by the noisy counts, and
        ends as many above what can lie in it at most. It need not have the count in its middle.

        Parameters
        ----------
        lo, hi
            As for `count`.

        Returns
        -------
        low, high : float, or arrays of float64, records.
        """
        low, high = self._asked("interval", lo, hi)
        return low, high

    def _asked(self, what: str, lo: Any, hi: Any) -> Any:
        if self.answers is None:
            raise ParameterError("the histogram was made by hand; release one with a mechanism")
        low, high, single = checked_boxes(self.bins.shape, lo, hi)
        found = getattr(self.answers, what)([e.ravel() for e in low], [e.ravel() for e in high])
        many = found if isinstance(found, tuple) else (found,)
        shaped = [one[0].item() if single else one.reshape(low[0].shape) for one in many]
        return tuple(shaped) if isinstance(found, tuple) else shaped[0]

    def cdf(self) -> FloatArray:
        """Return the share of records below each edge of the only axis, rising from 0 to 1.

        Returns
        -------
        (bins + 1,) float64, not falling; all NaN if there are no records by the estimates.

        Raises
        ------
        ParameterError
            If there are several axes.
        """
        bins = len(self._line())
        if self.answers is None:
            sums = np.append(0.0, np.cumsum(self.bins))
        else:
            sums = self.count(0, np.arange(bins + 1)).astype(np.float64)
        below = np.maximum.accumulate(np.maximum(sums, 0))
        with np.errstate(invalid="ignore"):
            share: FloatArray = below / below[-1]
        return share

    def quantile(self, q: Any) -> Any:
        """Return where a share `q` of the records lies below, in the only axis.

        Parameters
        ----------
        q : number or array of numbers, from 0 to 1.

        Returns
        -------
        A place, or an array of them, in the units of the edges (numbers, dates, times) or, if
        the data came without edges, in bins; within a bin records are taken as evenly spread.
        NaN or NaT if there are no records by the estimates.

        Raises
        ------
        ParameterError
            If there are several axes, or `q` is not from 0 to 1.
        """
        asked = np.asarray(q, np.float64)
        if not ((asked >= 0) & (asked <= 1)).all():
            raise ParameterError("q must be from 0 to 1")
        share = self.cdf()
        if np.isnan(share[-1]):
            places = np.full(asked.shape, np.nan)
        else:
            # The least place with that share: the bin before the first edge that has it.
            stop = np.searchsorted(share, asked, side="left")
            start = np.maximum(stop - 1, 0)
            inside = (asked - share[start]) / np.where(stop > 0, share[stop] - share[start], 1)
            places = start + inside
        found = places if self.axes is None else self.axes[0].at(places)
        return found[()] if asked.ndim == 0 else found

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row a bin: where it starts and stops, count, and standard error.

        Columns are ``start, stop, count, error``; in several axes a start and a stop of each,
        ``start_x, stop_x, ...`` by the columns' names or numbers.
        """
        import pandas as pd

        grid = np.indices(self.bins.shape).reshape(self.bins.ndim, -1)
        columns: dict[str, Any] = {}
        for axis, places in enumerate(grid):
            edges = self.edges[axis]
            suffix = "" if self.bins.ndim == 1 else f"_{self.axis_name(axis)}"
            columns[f"start{suffix}"] = edges[places]
            columns[f"stop{suffix}"] = edges[places + 1]
        columns["count"] = self.bins.ravel()
        if self.answers is not None:
            columns["error"] = self.answers.bin_errors().ravel()
        return pd.DataFrame(columns)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the bins, in one axis or two, and return matplotlib's axes.

        Raises
        ------
        ParameterError
            If there are more than two axes.
        """
        from dphist.release.range_histogram.picture import draw

        return draw(self, ax)

    @property
    def edges(self) -> list[AnyArray]:
        """Edges of each axis, (bins + 1,); whole numbers from 0 if the data came without."""
        if self.axes is None:
            return [np.arange(size + 1) for size in self.bins.shape]
        return [axis.edges for axis in self.axes]

    def axis_name(self, axis: int) -> str:
        """Return the column's name, or the axis' number."""
        name = None if self.axes is None else self.axes[axis].name
        return str(axis) if name is None else name

    def _line(self) -> NumberArray:
        if self.bins.ndim != 1:
            raise ParameterError("a histogram of several axes has no cdf and no quantiles")
        return self.bins

    def to_content(self) -> dict[str, Any]:
        """Return what a release file holds."""
        return {
            "bins": self.bins.tolist(),
            "axes": None if self.axes is None else [axis.to_content() for axis in self.axes],
            "outside": dict(self.outside),
        }

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "RangeHistogram":
        """Read what `to_content` made; ValueError or TypeError if it is not that."""
        bins = np.array(content["bins"])
        if bins.dtype.kind not in "if" or bins.size == 0 or not np.isfinite(bins).all():
            raise ValueError("bins are finite numbers")
        saved = content["axes"]
        axes = None if saved is None else tuple(Axis.from_content(axis) for axis in saved)
        if axes is not None and tuple(axis.bins for axis in axes) != bins.shape:
            raise ValueError("the axes do not have as many bins")
        outside = content["outside"]
        names = _OUTSIDE_ONE if bins.ndim == 1 else _OUTSIDE_MORE
        if outside and tuple(sorted(outside)) != tuple(sorted(names)):
            raise ValueError("outside counts are of no known kind")
        if not all(type(count) is int and count >= 0 for count in outside.values()):
            raise ValueError("outside counts are whole numbers, none negative")
        kind = np.dtype(np.float64 if bins.dtype.kind == "f" else np.int64)
        return cls(bins.astype(kind), axes, {name: outside[name] for name in names if outside})
