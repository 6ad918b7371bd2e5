"""A comparison in words: for a terminal, and as the card that a notebook shows."""

from dphist.comparing.case import Measure
from dphist.comparing.comparison import NOTICE, ComparedRow, Comparison
from dphist.comparing.text import capital, epsilon_text, number_text, seconds_text
from dphist.render.card import HEAD, Card, Prose, Table
from dphist.render.text_table import beside, left, right

_TITLES = {
    "anonymized": "Mechanisms for anonymized histograms",
    "ranges": "Mechanisms for ranges",
    "labels": "Mechanisms for labels",
    "streams": "Mechanisms for streams",
}


def title_of(comparison: Comparison) -> str:
    """Return a heading."""
    return f"{_TITLES[comparison.kind]}, compared"


def headings(measure: Measure) -> tuple[str, ...]:
    """Return the headings of a measure's table."""
    value = "mean" if measure.larger_is_better else "error"
    return ("ε", "mechanism", "given", value, "standard error", "runs", "a release")


def cells_of(row: ComparedRow) -> list[str]:
    """Return the cells of a row, in the order of `headings`."""
    doubt = "–" if row.standard_error is None else number_text(row.standard_error)
    return [
        epsilon_text(row.epsilon),
        row.mechanism,
        row.given,
        number_text(row.error),
        doubt,
        f"{row.runs:,}",
        seconds_text(row.seconds),
    ]


def heading(measure: Measure) -> str:
    """Say what a table holds."""
    better = "larger is better" if measure.larger_is_better else "smaller is better"
    return f"{capital(measure.name)}, {measure.unit}; {better}"


def comparison_text(comparison: Comparison) -> str:
    """Return the comparison for a terminal."""
    facts = ", ".join(f"{name} {text}" for name, text in comparison.facts.items())
    lines = [f"{title_of(comparison)}. {facts}.", NOTICE]
    for measure in comparison.measures:
        rows = comparison.of(measure.name)
        if not rows:
            continue
        lines += ["", f"{heading(measure)}. {measure.meaning}"]
        names = headings(measure)
        columns = list(zip(names, *map(cells_of, rows), strict=True))
        padded = [
            (left if name in ("mechanism", "given") else right)(cells)
            for name, cells in zip(names, columns, strict=True)
        ]
        lines += beside(*padded, gap="  ", width=None)
    lines += ["", *ending(comparison)]
    return "\n".join(lines)


def ending(comparison: Comparison) -> list[str]:
    """Say why a comparison ended, and what is left out."""
    lines = [f"After {comparison.seconds:.1f} s: {comparison.stopped}."]
    if comparison.left_out:
        lines.append("Left out:")
        lines += [
            f"  {one.mechanism} at ε = {epsilon_text(one.epsilon)}: {one.reason}"
            for one in comparison.left_out
        ]
    return lines


def card_of(comparison: Comparison) -> Card:
    """Return the card of a comparison: the rows of its first measure, and what it is not."""
    measure = comparison.measure()
    rows = comparison.of()
    shown = 4 * HEAD
    caption = f"{heading(measure)}."
    if len(rows) > shown:
        caption += f" The first {shown} of {len(rows)} rows."
    table = Table(
        headings(measure),
        [[Prose(cell) for cell in cells_of(row)] for row in rows[:shown]],
        len(rows),
        caption=caption,
    )
    facts = [(capital(name), text) for name, text in comparison.facts.items()]
    notes = [measure.meaning, *ending(comparison)]
    return Card(title_of(comparison), facts, notes, warning=NOTICE, tables=[table])
