"""How all figures look: dark text on a white card, for light and dark pages."""

import hashlib
import io
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BLUE, ORANGE, GREEN, GREY, PALE = "#0072b2", "#d55e00", "#00805a", "#5f6368", "#d9e3ec"

_SETTINGS: dict[Any, Any] = {  # newer Matplotlib lists the keys as a type, older has none
    "svg.fonttype": "path",  # looks alike wherever it is shown
    "svg.hashsalt": "dphist",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
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
    """Return a figure of so many inches, and its axes side by side with these relative widths."""
    mpl.rcParams.update(_SETTINGS)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.subplots(1, len(columns), gridspec_kw={"width_ratios": columns}, squeeze=False)
    return figure, list(axes[0])


def save(figure: Figure, name: str, title: str, said: str) -> None:
    """Write ``NAME.svg`` beside this file, with a title and a text alternative inside."""
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
