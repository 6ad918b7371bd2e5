"""What was left of an account after each entry, as a chart."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dphist.ledger.amounts import Totals
from dphist.ledger.history import AccountHistory, Step
from dphist.render.charts import Drawing, Palette, finish
from dphist.report.ledger.amounts import left_shares

TITLE = "What is left"
_MOST = 300  # points of a line; of more, each stands for several
_NAMES = {"ε": "Sum of ε", "ρ": "Sum of ρ", "δ": "Own δ"}
_STYLES = {"ε": "-", "ρ": "--", "δ": ":"}

Line = list[tuple[int, float]]


def chart_of(history: AccountHistory, last: int) -> Drawing:
    """Return the chart of an account: each sum of its budget falls from 100 % to 0.

    Parameters
    ----------
    last : number of the last entry of the ledger.
    """
    lines, start = lines_of(history), history.opened
    return Drawing(TITLE, lambda ax, palette: _draw(ax, palette, lines, start, last))


def lines_of(history: AccountHistory) -> dict[str, Line]:
    """Return for each sum what is left after each entry, in percent; it ends where it is void."""
    lines: dict[str, Line] = {}
    for step in [Step(history.opened, history.opened_at, Totals()), *_thinned(history.steps)]:
        for name, share in left_shares(history.account.budget, step.totals).items():
            lines.setdefault(name, []).append((step.entry, 100 * share))
    return lines


def _thinned(steps: list[Step]) -> list[Step]:
    """Return some steps, the last among them."""
    every = -(-len(steps) // _MOST) or 1
    return steps[(len(steps) - 1) % every :: every]


def _draw(ax: Axes, palette: Palette, lines: dict[str, Line], start: int, last: int) -> None:
    for name, line in lines.items():
        entries, left = zip(*line, strict=True)
        color = palette.grid if name == "δ" else palette.line
        # A line that goes on to the end of the chart; a void one stops at its last entry.
        end = last if line[-1][0] == _end(lines) else line[-1][0]
        ax.step([*entries, end], [*left, left[-1]], where="post", label=_NAMES[name],
                linestyle=_STYLES[name], linewidth=1.9, color=color)  # fmt: skip
    ax.set_xlim(start, max(last, start + 1) + 0.02 * (last - start))
    ax.set_ylim(0, 104)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    ax.set_xlabel("Entry")
    ax.set_ylabel("Left")
    finish(ax, palette)


def _end(lines: dict[str, Line]) -> int:
    return max(line[-1][0] for line in lines.values())
