"""Released labels as rows with a bar each: labels wrap as all text of a page does, uncut."""

from dataclasses import dataclass

from markupsafe import Markup

from dphist.report.labels.rows import Row

_HAIR = 0.3  # percent of the bar's width; a narrower interval cannot be seen


@dataclass(frozen=True, slots=True)
class Bar:
    """A row and its bar, an `<svg>` element as wide as its cell."""

    row: Row
    svg: Markup


def bars_of(rows: list[Row]) -> tuple[list[Bar], bool]:
    """Return a bar for each row with a count, and whether any interval can be seen.

    Bars begin at 0 and share one scale.
    """
    drawn = [(row, *_numbers(row)) for row in rows]
    low = min((min(least, count, 0) for _, count, least, _ in drawn), default=0)
    high = max((max(most, count, 1) for _, count, _, most in drawn), default=1)

    def place(value: int) -> float:
        return 100 * (value - low) / (high - low)

    found, seen = [], False
    for row, count, least, most in drawn:
        ends = sorted((place(0), place(count)))
        shape = f'<rect x="{ends[0]:.2f}" y="1" width="{ends[1] - ends[0]:.2f}" height="8"/>'
        if place(most) - place(least) >= _HAIR:
            seen = True
            shape += (
                f'<path d="M{place(least):.2f} 5H{place(most):.2f}M{place(least):.2f} 2.5V7.5'
                f'M{place(most):.2f} 2.5V7.5"/>'
            )
        found.append(
            Bar(
                row,
                Markup(  # noqa: S704 - numbers alone
                    '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
                    f"{shape}</svg>"
                ),
            )
        )
    return found, seen


def _numbers(row: Row) -> tuple[int, int, int]:
    """Return count and interval of a row that has them."""
    if row.count is None or row.low is None or row.high is None:
        raise ValueError("a ranking has no bars")
    return row.count, row.low, row.high
