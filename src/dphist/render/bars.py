"""Numbers of a table as bars, each an `<svg>` element as wide as its cell."""

import numpy as np
from markupsafe import Markup

from dphist.document.blocks import Column

_HAIR = 0.3  # percent of the bar's width; a narrower interval cannot be seen


def draw_bars(column: Column, rows: int) -> tuple[list[Markup], bool]:
    """Return a bar for each of the first rows, and whether any interval can be seen.

    Bars begin at 0 and share one scale.
    """
    ends = column.low, column.cells, column.high
    numbers = list(zip(*(np.asarray(end)[:rows].tolist() for end in ends), strict=True))
    low = min((min(row) for row in numbers), default=0)
    low, high = min(low, 0), max((max(row) for row in numbers), default=1)

    def place(number: int) -> float:
        return 100 * (number - low) / max(high - low, 1)

    found, seen = [], False
    for least, number, most in numbers:
        start, end = sorted((place(0), place(number)))
        shape = f'<rect x="{start:.2f}" y="1" width="{end - start:.2f}" height="8"/>'
        if place(most) - place(least) >= _HAIR:
            seen = True
            shape += (
                f'<path d="M{place(least):.2f} 5H{place(most):.2f}M{place(least):.2f} 2.5V7.5'
                f'M{place(most):.2f} 2.5V7.5"/>'
            )
        found.append(
            Markup(  # noqa: S704 - numbers alone
                '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
                f"{shape}</svg>"
            )
        )
    return found, seen
