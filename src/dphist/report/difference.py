"""Difference: what changed between two releases, and how sure that is."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, FloatArray
from dphist.document.blocks import (
    EVERYWHERE,
    ON_JSON,
    ON_PAGE,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
    Table,
)
from dphist.document.chart import Axis, Chart, Line, LineStyle, Spans
from dphist.document.csv_rows import csv_field
from dphist.document.differing import BOTH, Differing, check_same
from dphist.document.errata import errata_in_words
from dphist.document.kind import find_kind
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.release import FOR_TESTS, Release
from dphist.release.tabular import pandas_module
from dphist.render.text import content, text
from dphist.report import check_release, make_release_document
from dphist.sentence import Sentence, join_sentences

_COMPARED = ("max_count", "max_records", "max_events", "null_users", "null_labels")
_NAMED = 20  # rows of a chart that stand beside their names
_WHOLE = 60  # rows that surfaces show without leaving any out
_DRAWN = 2000  # rows of a chart
_COST = (
    "This costs no further privacy: it is computed from the two releases alone. The releases "
    "themselves cost what they state; of data with the same people, both costs add up."
)


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What changed between two releases of one kind, row by row. Not secret.

    Attributes
    ----------
    places : what the rows are, as columns of texts by name: labels, edges of bins, or ranks.
    before, after : (k,) float64, released numbers; NaN where a release does not show the row.
    change : (k,) float64, the released `after` less `before`; NaN where a release does not show the
        row, or the two bound users differently.
    low, high : (k,) float64, an interval for the true `after` less the true `before`, that holds
        for each row by itself with probability `level`, over the noise of both releases. It holds
        also if the releases are of the same people. It is of bounded counts, or of counts before
        bounding where the two bound users differently.
    stands : (k,) bool, whether the change of a row is not explained by noise, also as one of all
        rows that were looked at: see `correction`.
    level : 0.95 unless asked for otherwise.
    correction : how the error rate, 1 - `level` for all rows together, is divided.
    document : what is said of the difference.

    Notes
    -----
    Guarantee: `dphist` computes this from released numbers and public parameters, which costs no
    privacy. Proof of the intervals and of `stands`: `docs/understand/proofs/difference.md`.
    """

    places: Mapping[str, Sequence[str]]
    before: FloatArray
    after: FloatArray
    change: FloatArray
    low: FloatArray
    high: FloatArray
    stands: AnyArray
    level: float
    correction: str
    document: Document = field(repr=False)
    charts: Sequence[Chart] = field(repr=False)

    def __len__(self) -> int:
        return len(self.before)

    def to_arrow(self) -> pa.Table:
        """Return a row for each that is compared; what is not shown is null."""
        columns = self._columns()
        return pa.table({name: pa.array(each, from_pandas=True) for name, each in columns.items()})

    def to_pandas(self) -> Any:
        """Return the same as a pandas dataframe; pandas must be installed."""
        return pandas_module().DataFrame(self._columns())

    def _columns(self) -> dict[str, Any]:
        numbers = {"before": self.before, "after": self.after, "change": self.change}
        ends = {"low": self.low, "high": self.high, "stands": self.stands}
        return {**self.places, **numbers, **ends}

    def to_csv(self) -> str:
        """Return the table as CSV with one header line; what is not shown is empty."""
        table = self.to_arrow()
        lines = [",".join(table.column_names)]
        for row in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
            lines.append(",".join(map(_field, row)))
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """Return the table and what is said of it as JSON."""
        return json.dumps(content(self.document) | {"rows": self.to_arrow().to_pylist()})

    def to_html(self) -> str:
        """Return a page about the difference, which loads nothing and runs no script."""
        from dphist.render.html import page

        return page(self.document)

    def plot(self, ax: Any = None) -> Any:
        """Draw the changes with their intervals, and return matplotlib Axes."""
        from dphist.render.charts import draw_figure, draw_into

        if ax is None:
            return draw_figure(self.charts, self.document.slots)
        return draw_into(self.charts, self.document.slots, ax)

    def __str__(self) -> str:
        return text(self.document)


def difference(before: Release, after: Release, *, level: float = 0.95) -> Difference:
    """Return what changed between two releases of one kind, such as of October and November.

    Parameters
    ----------
    before, after : releases with the same unit, bounds, and edges or type of labels. Epsilon and
        mechanism may differ, and numbers of labels of a user that count, if both releases say how
        many users have more.
    level : probability of each interval; 1 - `level` is the chance that any row of all stands
        although nothing changed.

    Returns
    -------
    Difference

    Raises
    ------
    ParameterError
        If the releases are of different kinds, units, bounds or edges.
    UnsupportedError
        If nothing can be proved of a difference, as of rankings without counts.

    Examples
    --------
    >>> import dphist as dh
    >>> def count(tea):
    ...     counts = [tea, 700]
    ...     labels = dh.LabelCounts.from_counts(
    ...         ["tea", "milk"], counts, max_labels=1, max_count=1
    ...     )
    ...     return dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(labels)
    >>> found = dh.difference(count(500), count(900))
    >>> found.to_pandas().query("stands").label.tolist()
    ['tea']
    """
    for release in (before, after):
        check_release(release)
    if not 0.5 <= level <= 0.9999:
        raise ParameterError("level", "must be from 0.5 to 0.9999")
    kind = find_kind(before)
    if find_kind(after) is not kind:
        raise ParameterError(BOTH, f"must be of one kind: {kind.name} and {find_kind(after).name}")
    if kind.differing is None:
        raise UnsupportedError(
            f"releases of the kind {kind.name} have no differences: the kind declares none"
        )
    check_same("unit", *(_unit(each) for each in (before, after)))
    for name in _COMPARED:
        check_same(name, before.provenance.get(name), after.provenance.get(name))
    differing = kind.differing(before, after)
    missed = 1 - level
    low, high = _subtract(differing, 1 - missed / 2)
    lowest, highest = _subtract(differing, 1 - missed / (2 * differing.tests))
    stands = (lowest > differing.margin) | (highest < -differing.margin)
    order = np.arange(len(low))
    if not differing.ordered:
        order = np.lexsort((-np.maximum(low, -high), ~stands))
    places = {
        name: [each[row] for row in order.tolist()] for name, each in differing.places.items()
    }
    old, new, low, high = (e[order] for e in (differing.before, differing.after, low, high))
    stands = stands[order]
    change = new - old if differing.alike else np.full(len(old), np.nan)
    chart = _chart(differing, places, low, high, stands, change, level)
    document = _describe(
        (before, after), differing, places, [old, new, change, low, high, stands], chart, level
    )
    return Difference(
        places=places,
        before=old,
        after=new,
        change=change,
        low=low,
        high=high,
        stands=stands,
        level=level,
        correction=str(differing.correction),
        document=document,
        charts=[chart],
    )


def _unit(release: Release) -> tuple[Any, Any]:
    return release.guarantee.unit, release.provenance.get("unit")


def _subtract(differing: Differing, level: float) -> tuple[FloatArray, FloatArray]:
    """Return intervals of differences, if those of both releases hold with a probability."""
    (before_low, before_high), (after_low, after_high) = differing.bounds(level)
    return after_low - before_high, after_high - before_low


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return csv_field(value) if isinstance(value, str) else f"{value:.10g}"


def _number(value: float, sign: bool = False) -> str:
    """Write a number as readers expect; a dash for what is not shown."""
    if np.isnan(value):
        return "not shown" if not sign else "–"
    digits = 0 if float(value).is_integer() else 1
    return f"{value:+,.{digits}f}" if sign else f"{value:,.{digits}f}"


def _describe(
    releases: tuple[Release, Release],
    differing: Differing,
    places: Mapping[str, Sequence[str]],
    rows: list[AnyArray],
    chart: Chart,
    level: float,
) -> Document:
    """Return what is said of a difference."""
    stands = rows[-1]
    documents = [make_release_document(each) for each in releases]
    many, standing = len(stands), int(stands.sum())
    result = Sentence(
        "{standing:,} of {many:,} changes stand: they are not explained by noise.",
        standing=standing,
        many=many,
    )
    chance = Sentence(
        "If nothing changed, the chance that any of all rows stands is {most} {missed:.4g} %. "
        "{how}.",
        missed=100 * (1 - level),
        how=differing.correction,
        most="at most" if differing.proved else "about",
    )
    bounding: list[Block] = [Note(each) for each in _list_bounding(differing)]
    warnings = [each for release in releases for each in errata_in_words(release)]
    if any(each.for_tests for each in releases):
        warnings.append(f"A release protects nobody: {FOR_TESTS}.")
    facts = [
        Fact(name, f"{shown.fact('title').text}, {shown.fact('cost').text}")
        for name, shown in zip(("Before", "After"), documents, strict=True)
    ]
    facts += _tell_programs(differing, {"level": level, "compared": many, "standing": standing})
    columns = _list_changes(places, rows, level)
    table = Table(columns, ("All changes", "The first rows", "The last rows"), whole=many <= _WHOLE)
    return Document(
        kind="difference",
        title="Did it change?",
        made="two releases compared",
        version=documents[1].version,
        slots=documents[1].slots,
        headline=f"{standing:,} of {many:,} stand",
        result=result,
        lead=join_sentences([result, chance]),
        warnings=warnings,
        glance=[Section("releases", "", facts, EVERYWHERE)],
        sections=[
            Section("changes", "What changed", [Figures([chart], on=ON_PAGE), table], wide=True),
            Section("holds", "What this means", [Note(chance), *map(Note, differing.holds)]),
            *([Section("bounding", "Bounding", bounding)] if bounding else []),
            Section("cost", "Privacy", [Note(_COST)]),
        ],
        about="Difference",
        kicker="Difference of two private releases",
        closing=_COST,
    )


def _list_bounding(differing: Differing) -> list[str]:
    """Return what is said of bounding: once where both releases say the same, else of which."""
    said = differing.bounding
    if len(said) == len(BOTH) and said[0] != said[1]:
        named = zip(("Before", "After"), said, strict=True)
        return [Sentence(f"{name}: {{said}}", said=each) for name, each in named if each]
    return list(dict.fromkeys(each for each in said if each))


def _tell_programs(differing: Differing, numbers: Mapping[str, Any]) -> list[Fact]:
    exact = NoError("known exactly")
    values = [Fact("", "", key, value, exact, on=ON_JSON) for key, value in numbers.items()]
    texts = {
        "intervals_of": "bounded counts" if differing.alike else "counts before bounding",
        "correction": str(differing.correction),
        "bounding": [str(each) for each in _list_bounding(differing)],
    }
    return values + [Fact("", "", key, value, on=ON_JSON) for key, value in texts.items()]


def _list_changes(
    places: Mapping[str, Sequence[str]], rows: list[AnyArray], level: float
) -> list[Column]:
    """Return the columns of the table of all changes."""
    before, after, change, low, high, stands = rows
    ends = [f"{_number(a, True)} to {_number(b, True)}" for a, b in zip(low, high, strict=True)]
    released = list(places) == ["label"]
    return [
        *(Column(name, each, released=released) for name, each in places.items()),
        Column("Change", [_number(each, True) for each in change], digits=True),
        Column(f"{100 * level:g} % interval", ends, digits=True),
        Column("Stands", ["yes" if each else "no" for each in stands]),
        Column("Before", [_number(each) for each in before], digits=True),
        Column("After", [_number(each) for each in after], digits=True),
    ]


def _chart(
    differing: Differing,
    places: Mapping[str, Sequence[str]],
    low: FloatArray,
    high: FloatArray,
    stands: AnyArray,
    change: FloatArray,
    level: float,
) -> Chart:
    """Declare the changes with their intervals; those that stand are marked."""
    named = not differing.ordered or len(low) <= _NAMED
    shown = np.arange(min(len(low), _NAMED if named else _DRAWN))
    low, high, stands, change = (each[shown] for each in (low, high, stands, change))
    middle = np.where(np.isnan(change), (low + high) / 2, change)
    ends = [*low, *high, 0.0]
    pad = 0.04 * (max(ends) - min(ends) or 1)
    numbers = Axis(Sentence("Change ({records})"), min(ends) - pad, max(ends) + pad)
    lines, at = list[Line](), shown if named else shown + 1
    drawn: tuple[tuple[str, AnyArray, LineStyle], ...] = (
        ("Change", np.logical_not(stands), "dots"),
        ("Change that stands", stands, "diamonds"),
    )
    for name, held, style in drawn:
        if held.any():
            x, y = (middle, at) if named else (at, middle)
            lines.append(Line(name, x[held], y[held], style))
    last = len(shown)
    zero = np.zeros(2), np.array([-0.6, max(last, 5) - 0.4]) if named else np.array([0, last + 1])
    if named:
        rows_named = zip(*places.values(), strict=True)
        texts = [differing.joint.join(filter(None, each)) for each in rows_named]
        rows = Axis("", max(last, 5) - 0.4, -0.6, ticks=list(enumerate(texts[:last])))
        lines.insert(0, Line("No change", *zero, "dashed"))
    else:
        rows = Axis(f"{differing.noun.capitalize()} number", 0, last + 1, whole=True)
    spans = Spans(f"{100 * level:g} % interval", at, low, high, "x" if named else "y")
    text = f"The change of each {differing.noun} with its interval; diamonds mark those that stand."
    note = (
        "A point without an estimate is in the middle of its interval."
        if np.isnan(change).any()
        else ""
    )
    if last < len(differing.before):
        note = f"{note} The first {last:,} of {len(differing.before):,} are drawn.".strip()
    across, up = (numbers, rows) if named else (rows, numbers)
    return Chart(
        "changes", "Changes", text, across, up, lines=lines, spans=[spans], note=note,
        empty="" if last else "Nothing to compare.", height=430 if named else 330,
    )  # fmt: skip
