"""A released histogram in the forms that other libraries read: UHI and Vega-Lite.

UHI is the protocol and the schema by which hist, boost-histogram, mplhep and uproot exchange
histograms. The variances are those of the noise: the squares of the standard errors.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dphist.arrays import FloatArray, NumberArray
from dphist.data.axis.axis import Axis
from dphist.errors import UnsupportedError
from dphist.release.range_histogram.answers import Answers
from dphist.shown import show_by


class Exchanged:
    """A released histogram, as `uhi.typing.plottable.PlottableHistogram`."""

    __slots__ = ()

    counts: NumberArray
    axes: tuple[Axis, ...]
    outside: Mapping[str, int]
    answers: Answers | None

    @property
    def kind(self) -> str:
        """What UHI calls a histogram of counts: "COUNT"."""
        return "COUNT"

    def values(self) -> FloatArray:
        """Return the estimates of the bins, as `counts`, for UHI; float64."""
        return self.counts.astype(np.float64)

    def variances(self) -> FloatArray | None:
        """Return the variances of the noise of the bins, in records squared, for UHI.

        None for a histogram made by hand. They are not the counts, as of sampled data they are:
        the intervals are those of `interval`, which do not cover sampling. They are those of single
        bins: the noise of a sum of bins has their sum as variance only if the bins have noise of
        their own, as those of leaf counts do. Bins of trees share noisy counts: see `error`.
        """
        if self.answers is None:
            return None
        squared: FloatArray = self.answers.bin_errors().reshape(self.counts.shape) ** 2
        return squared

    def to_uhi(self, *, independent: bool = False) -> dict[str, Any]:
        """Return the histogram by the schema of UHI, version 1: lists, numbers and text.

        ``boost_histogram.Histogram(h.to_uhi())`` and ``hist.Hist(h.to_uhi())`` are histograms.
        Bins to infinity become flow bins. Edges that are dates become days since 1970, those of
        datetimes with fractions, as matplotlib counts them; the axis says so in its metadata.
        Counts of records in no bin are metadata.

        Parameters
        ----------
        independent : whether variances are left out unless each bin has noise of its own, so that
            whoever adds bins may add their variances too. Those of trees may not be added: of 64
            bins they add up to many times the variance of the sum, or to less.

        Raises
        ------
        UnsupportedError
            If an axis has fewer than two finite edges.
        """
        axes = [self._uhi_axis(axis) for axis in range(self.counts.ndim)]
        answers = self.answers
        told = answers is not None and (answers.are_independent or not independent)
        errors = self.variances() if told else None
        storage: dict[str, Any] = {"type": "double", "values": self.values().tolist()}
        if errors is not None:
            storage |= {"type": "weighted", "variances": errors.tolist()}
        return {
            "uhi_schema": 1,
            "writer_info": {"dphist": {"differentially_private": True}},
            "metadata": {f"records_{name}": count for name, count in self.outside.items()},
            "axes": axes,
            "storage": storage,
        }

    def _to_uhi_(self) -> dict[str, Any]:
        return self.to_uhi()

    def _uhi_axis(self, number: int) -> dict[str, Any]:
        axis = self.axes[number]
        edges = axis.as_floats()
        finite = edges[np.isfinite(edges)]
        if len(finite) < 2:
            raise UnsupportedError("an axis must have two finite edges to be a histogram of UHI")
        metadata: dict[str, Any] = {} if axis.name is None else {"name": axis.name}
        if axis.edges.dtype.kind == "M":
            metadata["edges"] = "days since 1970-01-01, UTC"
        if axis.zone is not None:
            metadata["time_zone"] = axis.zone
        return {
            "type": "variable",
            "edges": finite.tolist(),
            "underflow": bool(np.isinf(edges[0])),
            "overflow": bool(np.isinf(edges[-1])),
            "circular": False,
            "metadata": metadata,
        }

    def to_vega(self) -> dict[str, Any]:
        """Return a plot of one axis or two as a Vega-Lite specification (version 6).

        It shows what `plot` draws. `altair.Chart.from_dict(h.to_vega())` shows it in a notebook.

        Raises
        ------
        UnsupportedError
            If there are more than two axes.
        """
        specification: dict[str, Any] = show_by("draw_vega", self)
        return specification
