"""Comparisons of all sorts, whose golden files say what each surface tells of them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dphist.document.compared import Measure
from dphist.lab.comparing.comparison import Comparison
from dphist.lab.comparing.results import ComparedRow, LeftOut, Style

SORTED = Measure("sorted L1 error", "records", "Distance of the sorted counts.", root=True)
FOUND = Measure("labels found", "labels", "Of the 10 most common.", larger_is_better=True)


def row(
    name: str, epsilon: Fraction, measure: Measure, error: float, runs: int = 12
) -> ComparedRow:
    """Return what was measured in one cell."""
    given, doubt = "nothing", None if runs == 1 else error / 20
    return ComparedRow(
        name, given, "pure", epsilon, measure.name, measure.unit, error, doubt, runs, error / 9e3
    )


def usual() -> Comparison:
    """Return a comparison of three mechanisms by one measure."""
    names = ("mine", "RankSplit", "CumulativeCounts")
    rows = tuple(
        row(name, epsilon, SORTED, 1234.5 * place / float(epsilon), 1 if place == 3 else 12)
        for epsilon in (Fraction(1), Fraction(1, 10))
        for place, name in enumerate(names, 1)
    )
    styles = (
        Style("mine", "nothing", "#000000", stands_out=True),
        Style("RankSplit", "nothing", "#0072B2"),
        Style("CumulativeCounts", "n", "#0072B2", dashed=True),
    )
    facts = {"records": "8,023", "labels": "412"}
    return Comparison(
        "anonymized", (SORTED,), rows, (), facts, "all was measured", 12.34, styles
    )  # fmt: skip


def two_measures() -> Comparison:
    """Return a comparison by two measures, of which cells are left out."""
    rows = tuple(
        row(name, Fraction(2), measure, error)
        for measure, errors in ((FOUND, (8.25, 0.0)), (SORTED, (0.0123, 56.7)))
        for name, error in zip(("TopLabels", "$mine$ <b>{label}</b>"), errors, strict=True)
    )
    styles = (
        Style("TopLabels", "nothing", "#0072B2"),
        Style("$mine$ <b>{label}</b>", "n", "#D55E00", dashed=True),
        Style("broken", "nothing", "#009E73"),
    )
    left_out = (
        LeftOut("broken", Fraction(2), "RuntimeError: no such table"),
        LeftOut("TopLabels", Fraction(1, 3), "a release takes 1,234 s or more"),
    )
    facts = {"records": "99", "max_labels": "3"}
    return Comparison(
        "labels", (FOUND, SORTED), rows, left_out, facts, "the time was up", 60.0, styles
    )  # fmt: skip


def nothing() -> Comparison:
    """Return a comparison without a result."""
    left_out = (LeftOut("broken", Fraction(1), "ValueError"),)
    return replace(usual(), rows=(), left_out=left_out, styles=(), stopped="interrupted")


def many() -> Comparison:
    """Return a comparison with more rows than a card has room for."""
    rows = [
        row(f"mechanism number {place} of many", Fraction(1, power), SORTED, float(place * power))
        for power in (1, 10, 100, 1000)
        for place in range(1, 11)
    ]
    styles = tuple(
        Style(
            f"mechanism number {place} of many", "number of labels", f"#00{place:02}00", place > 5
        )
        for place in range(1, 11)
    )
    return replace(usual(), kind="ranges", rows=tuple(rows), styles=styles)


TOLD: dict[str, Callable[[], Comparison]] = {
    "usual": usual,
    "two measures": two_measures,
    "nothing": nothing,
    "many": many,
}
