"""The charts of a comparison: errors against epsilon, or against the time of a release."""

import math
from collections.abc import Sequence

from dphist.document.chart import Axis, Chart, Measured
from dphist.document.compared import BLACK, Measure
from dphist.lab.comparing.results import ComparedRow, Style, capital
from dphist.visible import harmless

_BARS = 2  # standard errors, to both sides
_BESIDE_EPSILON, _BESIDE_TIME = 1.25, 2.5  # room beside the points, as factors
_HEIGHT, _LINE = 330, 20  # of a chart, and of a name in its legend
_LONGEST_NAME = 60  # letters of a name


def error_chart(
    measure: Measure,
    place: int,
    compared: Sequence[ComparedRow],
    styles: Sequence[Style],
    *,
    by_time: bool,
    given: bool = False,
) -> Chart:
    """Declare the errors of one measure, with bars of two standard errors.

    Both axes are logarithmic, so an error of 0 has no place.

    Parameters
    ----------
    place : of the measure among all.
    compared : the rows of the measure.
    by_time : against the seconds of a release; else against epsilon.
    given : whether the legend says what each mechanism was given in advance.
    """
    rows = [row for row in compared if row.error > 0]
    lines = [
        _line(style, mine, by_time, given)
        for style in styles
        if (mine := [row for row in rows if row.mechanism == style.name])
    ]
    what = capital(measure.name)
    return Chart(
        f"{'time' if by_time else 'error'}-{place}",
        f"{what} against {'time' if by_time else 'ε'}",
        f"{measure.meaning} Bars reach two standard errors to both sides; both axes are "
        "logarithmic.",
        _time_axis(rows) if by_time else _epsilon_axis(rows),
        Axis(f"{what}, {measure.unit}", *_reach(rows), log=True),
        measured=lines,
        empty="" if lines else "no error above 0 was measured",
        height=_HEIGHT + _LINE * max(len(lines) - 1, 0),
    )


def _line(style: Style, rows: Sequence[ComparedRow], by_time: bool, given: bool) -> Measured:
    rows = sorted(rows, key=lambda row: row.epsilon)
    name = harmless(style.name, _LONGEST_NAME)
    return Measured(
        f"{name} (given {style.told})" if given else name,
        [row.seconds if by_time else float(row.epsilon) for row in rows],
        [row.error for row in rows],
        [max(row.error - _bar(row), 0.01 * row.error) for row in rows],
        [row.error + _bar(row) for row in rows],
        "" if style.color == BLACK else style.color,
        style.dashed,
        style.stands_out,
    )


def _bar(row: ComparedRow) -> float:
    return _BARS * (row.standard_error or 0)


def _epsilon_axis(rows: Sequence[ComparedRow]) -> Axis:
    """Mark each epsilon that was measured."""
    measured = sorted({float(row.epsilon) for row in rows}) or [1.0]
    low, high = measured[0] / _BESIDE_EPSILON, measured[-1] * _BESIDE_EPSILON
    return Axis("ε", low, high, log=True, ticks=[(each, f"{each:g}") for each in measured])


def _time_axis(rows: Sequence[ComparedRow]) -> Axis:
    known = [row.seconds for row in rows if row.seconds > 0] or [1.0]
    low, high = min(known) / _BESIDE_TIME, max(known) * _BESIDE_TIME
    return Axis("Seconds of a release (median)", low, high, log=True)


def _reach(rows: Sequence[ComparedRow]) -> tuple[float, float]:
    """Return limits, at least a decade apart, around errors and ends of bars not far below."""
    ends = [row.error + _bar(row) for row in rows] or [1.0]
    starts = [max(row.error - _bar(row), row.error / 3) for row in rows] or [1.0]
    low, high = math.log10(min(starts)), math.log10(max(ends))
    margin = max(0.06 * (high - low), (1 - (high - low)) / 2, 0.05)
    return 10 ** (low - margin), 10 ** (high + margin)
