"""A comparison as a document: what was measured, on which data, and that it is not private."""

import math
from collections.abc import Sequence

from dphist.document.blocks import (
    CARD,
    JSON,
    PAGE,
    TERMINAL,
    Column,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
    Table,
)
from dphist.document.chart import Axis, Chart, Measured
from dphist.document.compared import BLACK, Measure
from dphist.document.kind import kinds
from dphist.lab.comparing.comparison import (
    NOTICE,
    ComparedRow,
    Comparison,
    Style,
    capital,
    epsilon_text,
    number_text,
    seconds_text,
)
from dphist.visible import harmless

_BARS = 2  # standard errors, to both sides
_BESIDE_EPSILON, _BESIDE_TIME = 1.25, 2.5  # room beside the points, as factors
_HEIGHT, _LINE = 330, 20  # of a chart, and of a name in its legend
_LONGEST_NAME = 60  # letters of a name


def error_chart(
    comparison: Comparison, measure: Measure, *, by_time: bool, given: bool = False
) -> Chart:
    """Declare the errors of one measure, with bars of two standard errors.

    Both axes are logarithmic, so an error of 0 has no place.

    Parameters
    ----------
    by_time : against the seconds of a release; else against epsilon.
    given : whether the legend says what each mechanism was given in advance.
    """
    rows = [row for row in comparison.of(measure.name) if row.error > 0]
    lines = [
        _line(style, mine, by_time, given)
        for style in comparison.styles
        if (mine := [row for row in rows if row.mechanism == style.name])
    ]
    what = capital(measure.name)
    return Chart(
        f"{'time' if by_time else 'error'}-{comparison.measures.index(measure)}",
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


_LONGEST = 200  # letters of a name or of a reason
_CHOSEN = (
    "A mechanism for secret data that is chosen by this comparison reveals something about them."
)
_TEXTS = ("mechanism", "given")
_PAGE, _JSON = frozenset({PAGE}), frozenset({JSON})


def document_of(comparison: Comparison) -> Document:
    """Return what is to be said of a comparison."""
    measured = [each for each in comparison.measures if comparison.of(each.name)]
    compared = (each.comparing for each in kinds() if each.name == comparison.kind)
    ended = f"after {comparison.seconds:.1f} s: {comparison.stopped}"
    facts = [Fact(capital(name.replace("_", " ")), text) for name, text in comparison.facts.items()]
    facts.append(Fact("Ended", ended, on=frozenset({TERMINAL, CARD})))
    return Document(
        kind="comparison",
        title=next(each.title for each in compared if each is not None),
        made="compared",
        version=comparison.version,
        slots={},
        headline="compared",
        sections=[
            *_charts(comparison, measured),
            *(_section(comparison, each, each is measured[0]) for each in measured),
            _left_out(comparison),
            _for_programs(comparison),
        ],
        warnings=[f"Not private. {NOTICE} {_CHOSEN}"],
        glance=[Section("data", "", facts)],
        about="Comparison",
        kicker="Comparison of mechanisms",
        closing=f"It ended {ended}. {NOTICE}",
    )


def _charts(comparison: Comparison, measured: list[Measure]) -> list[Section]:
    """Return each measure against epsilon, and the first against time too."""
    if not measured:
        return []
    charts = [error_chart(comparison, each, by_time=False) for each in measured]
    charts.insert(1, error_chart(comparison, measured[0], by_time=True))
    return [Section("charts", "Error and time", [Figures(charts, on=_PAGE)], wide=True)]


def _section(comparison: Comparison, measure: Measure, first: bool) -> Section:
    """Return the table of a measure; cards show that of the first."""
    better = "larger is better" if measure.larger_is_better else "smaller is better"
    heading = f"{capital(measure.name)}, {measure.unit}; {better}"
    columns = _columns(measure, comparison.of(measure.name))
    on = frozenset({PAGE, TERMINAL, CARD} if first else {PAGE, TERMINAL})
    return Section(
        f"table-{comparison.measures.index(measure)}",
        heading,
        [
            Note(measure.meaning, "aside", on=_PAGE),
            Table(columns, (f"{heading}. {measure.meaning}", heading, ""), on=on, whole=True),
        ],
        wide=True,
    )


def _columns(measure: Measure, rows: tuple[ComparedRow, ...]) -> list[Column]:
    doubts = [row.standard_error for row in rows]
    columns = {
        "ε": [epsilon_text(row.epsilon) for row in rows],
        "mechanism": [harmless(row.mechanism, _LONGEST) for row in rows],
        "given": [row.given for row in rows],
        "mean" if measure.larger_is_better else "error": [number_text(row.error) for row in rows],
        "standard error": ["–" if each is None else number_text(each) for each in doubts],
        "runs": [f"{row.runs:,}" for row in rows],
        "a release": [seconds_text(row.seconds) for row in rows],
    }
    return [Column(name, cells, digits=name not in _TEXTS) for name, cells in columns.items()]


def _left_out(comparison: Comparison) -> Section:
    """Return the cells that could not be measured, and why."""
    facts = [
        Fact(
            harmless(each.mechanism, _LONGEST),
            f"left out at ε = {epsilon_text(each.epsilon)}: {harmless(each.reason, _LONGEST)}",
        )
        for each in comparison.left_out
    ]
    return Section("left", "Left out", facts)


def _for_programs(comparison: Comparison) -> Section:
    left_out = [
        {"mechanism": each.mechanism, "epsilon": float(each.epsilon), "reason": each.reason}
        for each in comparison.left_out
    ]
    facts = [
        Fact("", "", "private", False, on=_JSON),
        Fact("", "", "kind", comparison.kind, on=_JSON),
        Fact("", "", "data", dict(comparison.facts), on=_JSON),
        Fact("", "", "stopped", comparison.stopped, on=_JSON),
        Fact("", "", "seconds", comparison.seconds, NoError(""), on=_JSON),
        Fact("", "", "rows", comparison.to_arrow().to_pylist(), on=_JSON),
        Fact("", "", "left_out", left_out, on=_JSON),
    ]
    return Section("programs", "", facts, on=_JSON)
