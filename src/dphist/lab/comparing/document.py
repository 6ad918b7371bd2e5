"""A comparison as a document: what was measured, on which data, and that it is not private."""

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
from dphist.document.compared import Measure
from dphist.document.kind import kinds
from dphist.lab.comparing.comparison import Comparison
from dphist.lab.comparing.results import (
    NOTICE,
    ComparedRow,
    capital,
    epsilon_text,
    number_text,
    seconds_text,
)
from dphist.visible import harmless

_LONGEST = 200  # letters of a name or of a reason
_CHOSEN = (
    "A mechanism for secret data that is chosen by this comparison reveals something about them."
)
_TEXTS = ("mechanism", "given")
_PAGE, _JSON = frozenset({PAGE}), frozenset({JSON})


def make_document(comparison: Comparison) -> Document:
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
            _make_left_out_section(comparison),
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
    charts = [comparison.error_chart(each, by_time=False) for each in measured]
    charts.insert(1, comparison.error_chart(measured[0], by_time=True))
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


def _make_left_out_section(comparison: Comparison) -> Section:
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
