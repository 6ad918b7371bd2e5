"""How all figures look: dark text on a white card, for light and dark pages.

Each figure is drawn twice: with its panels side by side, and for a phone as ``NAME-narrow.svg``,
one below the other. The text of both is as large as that of the page.
"""

import hashlib
import io
import re
import textwrap
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BLUE, ORANGE, GREEN, GRAY, PALE = "#0072b2", "#d55e00", "#00805a", "#5f6368", "#d9e3ec"

narrow = False
"""Whether figures are drawn for a phone; ``__main__`` draws each in both ways."""

NARROW_WIDTH = 4.4
"""Inches of a figure for a phone, so that the browser hardly scales it."""

_SETTINGS: dict[Any, Any] = {  # newer Matplotlib lists the keys as a type, older has none
    "svg.fonttype": "path",  # looks alike wherever it is shown
    "svg.hashsalt": "dphist",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GRAY,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
}


def repeatable(seed: str) -> Callable[[int], bytes]:
    """Return bytes that are the same on each run, so that a picture stays as it is described."""
    blocks = count()

    def draw(size: int) -> bytes:
        return hashlib.shake_128(f"{seed} {next(blocks)}".encode()).digest(size)

    return draw


def panels(width: float, height: float, *columns: float) -> tuple[Figure, list[Any]]:
    """Return a figure of these many inches, and its axes side by side with these relative widths.

    On a phone up to two axes stand below each other, and more of them in two columns.
    """
    mpl.rcParams.update(_SETTINGS)
    across = len(columns)
    if narrow:
        across = 1 if len(columns) < 3 else 2
        width, height = NARROW_WIDTH, height * len(columns) / across
        columns = (1,) * len(columns)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.subplots(
        len(columns) // across,
        across,
        gridspec_kw={"width_ratios": columns[:across]},
        squeeze=False,
    )
    return figure, list(axes.flat)


def save(figure: Figure, name: str, title: str, said: str) -> None:
    """Write ``NAME.svg`` beside this file, with a title and a text alternative inside."""
    if narrow:
        name = f"{name}-narrow"
        _wrap_titles(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(
        r"(<svg [^>]*)>",
        rf'\1 role="img" aria-labelledby="title said">\n <title id="title">{title}</title>\n'
        rf' <desc id="said">{said}</desc>',
        buffer.getvalue(),
        count=1,
    )
    text = "\n".join(line.rstrip() for line in text.splitlines())
    (HERE / f"{name}.svg").write_text(text + "\n", encoding="utf-8")


def _wrap_titles(figure: Figure) -> None:
    """Break the titles of axes that are too long for a narrow figure."""
    figure.draw_without_rendering()  # lays out the axes
    for axes in figure.axes:
        letters = int((figure.get_figwidth() * (1 - axes.get_position().x0)) / 0.1)  # inches each
        if len(heading := axes.get_title(loc="left")) > letters:
            axes.set_title(textwrap.fill(heading, letters), loc="left")
