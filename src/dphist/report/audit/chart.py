"""The curve of an audit: which epsilons are exceeded at which deltas."""

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator

from dphist.auditing.result import AuditResult
from dphist.render.charts import Drawing, Palette, finish

_MOST_TICKS = 6


def curve_chart(result: AuditResult) -> Drawing:
    """Return the chart of the lower bounds on epsilon by delta, with the claim."""
    return Drawing("Shown and claimed", lambda ax, palette: _draw(ax, palette, result))


def _draw(ax: Axes, palette: Palette, result: AuditResult) -> None:
    deltas = sorted({delta for delta, _ in result.curve} | {result.delta})
    places = {delta: place for place, delta in enumerate(deltas)}
    ax.plot(
        [places[delta] for delta, _ in result.curve],
        [epsilon for _, epsilon in result.curve],
        marker="o",
        markersize=4.5,
        linewidth=1.8,
        color=palette.line,
        label="the true ε is at least",
    )
    ax.plot(
        [places[result.delta]],
        [result.epsilon],
        linestyle="none",
        marker="D",
        markersize=8,
        color=palette.band,
        label="claimed",
    )
    step = -(-len(deltas) // _MOST_TICKS)
    kept = deltas[::step]
    ax.xaxis.set_major_locator(FixedLocator([places[delta] for delta in kept]))
    ax.xaxis.set_major_formatter(FixedFormatter([_short(delta) for delta in kept]))
    ax.set_xlim(-0.4, max(len(deltas) - 0.6, 0.6))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("δ")
    ax.set_ylabel("ε")
    finish(ax, palette)


def _short(delta: float) -> str:
    return f"{delta:g}".replace("e-0", "e-")
