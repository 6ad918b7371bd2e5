"""The two curves of an anonymized histogram with their error bands."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dphist.anonymized.band import Band
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.arrays import FloatArray
from dphist.privacy.as_text import percent
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.report.anonymized.curves import Curve, counts_by_rank, labels_by_count, outline, thin
from dphist.report.nouns import nouns_of
from dphist.report.plots import (
    NARROW,
    Chart,
    Palette,
    Panels,
    draw_charts,
    finish,
    log_ticks,
    say_empty,
    short_number,
)
from dphist.report.records import counted_of

_SAMPLES = 400  # places along an axis; a figure is some 400 units wide
_APART = 0.008  # of the height: three units
_WIDE = 0.015  # of the width


@dataclass(frozen=True, slots=True)
class Bands:
    """What both plots draw besides the released histogram, and what the legends call it.

    Attributes
    ----------
    band : around the whole curve.
    bars : around each point by itself, if the mechanism has any.
    released : the legend's name of the released curve.
    """

    band: Band
    bars: Band | None
    released: str

    @property
    def band_label(self) -> str:
        """The legend's name of the band."""
        return f"{percent(self.band.level)} {'band' if self.bars else 'error band'}"


def plot(release: Release) -> Panels:
    """Draw both curves: see `dphist.plot`."""
    return draw_charts(charts_of(release, bands_of(release)), 11, 4.6)


def bands_of(release: Release) -> Bands:
    """Return the bands of a release."""
    mechanism = release.mechanism
    bars = None
    if isinstance(mechanism, AnonymizedMechanism):
        bars = mechanism.pointwise_band(release)
    return Bands(mechanism.intervals(release), bars, counted_of(release).released)


def charts_of(release: Release, bands: Bands) -> tuple[Chart, Chart]:
    """Return the two charts: counts by rank, labels by count."""
    nouns = nouns_of(release)
    charts = []
    for title, x_label, y_label, curve in (
        ("Counts by rank", "Rank (labels)", "Count (records)", counts_by_rank),
        ("Labels by count", "Count r (records)", "Labels with r records or more", labels_by_count),
    ):
        curves = _curves(release.value, bands, curve)
        drawn = partial(
            _draw,
            curves=curves,
            bands=replace(bands, released=nouns(bands.released)),
            x_label=nouns(x_label),
            y_label=nouns(y_label),
        )
        seen = _is_seen(curves, curves.lower, curves.upper)
        charts.append(Chart(nouns(title), drawn, "" if seen else NARROW))
    return charts[0], charts[1]


@dataclass(frozen=True, slots=True)
class _Curves:
    """The curves of one plot, thinned; `bars` are the lower and the upper one."""

    lower: Curve
    released: Curve
    upper: Curve
    bars: tuple[Curve, Curve] | None


def _curves(
    released: AnonymizedHistogram, bands: Bands, curve: Callable[[AnonymizedHistogram], Curve]
) -> _Curves:
    bars = bands.bars
    return _Curves(
        thin(curve(bands.band.lower)),
        thin(curve(released)),
        thin(curve(bands.band.upper)),
        None if bars is None else (thin(curve(bars.lower)), thin(curve(bars.upper))),
    )


def _draw(
    ax: Axes, palette: Palette, curves: _Curves, bands: Bands, x_label: str, y_label: str
) -> None:
    """Draw one plot into axes, with limits, ticks, labels and legend but no title."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    (left, right), (floor, ceiling) = _limits(curves)
    x, y = outline(curves.lower, curves.upper, floor)
    seen = _is_seen(curves, curves.lower, curves.upper)
    ax.fill(x, y, facecolor=palette.band, alpha=0.25, linewidth=0,
            label=bands.band_label if seen else None)  # fmt: skip
    if curves.bars is not None:
        x, y = outline(*curves.bars, floor)
        ax.fill(x, y, facecolor=palette.band, alpha=0.45, linewidth=0,
                label="pointwise" if _is_seen(curves, *curves.bars) else None)  # fmt: skip
    released = curves.released
    ax.plot(released.x, released.y, color=palette.line, linewidth=1.6, label=bands.released)
    if len(released.x) == 0:
        say_empty(ax)
    for axis, (low, high) in ((ax.xaxis, (left, right)), (ax.yaxis, (floor, ceiling))):
        axis.set_major_locator(FixedLocator(log_ticks(low, high)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    ax.set_xlim(left, right)
    ax.set_ylim(floor, ceiling)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    finish(ax, palette)


def _is_seen(curves: _Curves, lower: Curve, upper: Curve) -> bool:
    """Whether a band can be told from its curve anywhere along the axis, in logarithms."""
    (left, right), (floor, ceiling) = _limits(curves)
    x = np.geomspace(left, right, _SAMPLES)

    def at(curve: Curve) -> FloatArray:
        if len(curve.x) == 0:
            return np.full(_SAMPLES, np.log(floor))
        y = np.interp(x, curve.x, curve.y.astype(np.float64), right=floor)
        return np.log(np.maximum(y, floor))

    apart = (at(upper) - at(lower)) / (np.log(ceiling) - np.log(floor))
    return bool(np.count_nonzero(apart >= _APART) >= _WIDE * _SAMPLES)


def _limits(curves: _Curves) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits of x and of y: all curves, with a margin in proportion.

    The bottom is a little below 1, the smallest count there is, and stands for zero.
    """
    drawn = (curves.released, curves.upper)
    end = max([10.0] + [float(curve.x[-1]) for curve in drawn if len(curve.x)])
    top = max([10.0] + [float(curve.y[0]) for curve in drawn if len(curve.y)])
    return (0.5, end * (2 * end) ** 0.03), (top**-0.08, top**1.05)
