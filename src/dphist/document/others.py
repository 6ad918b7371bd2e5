"""Labels and running counts of somebody else's mechanism, told by what `dphist.Mechanism` says."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dphist.document.blocks import (
    BRIEF,
    DRAWN,
    EVERYWHERE,
    HEADED,
    ON_CARD,
    ON_PAGE,
    READ,
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
from dphist.document.chart import Axis, Chart, Line, Spans
from dphist.document.guarantee_words import LEVEL
from dphist.document.kind import DataFacts, Kind
from dphist.document.release import (
    CODES,
    counts_section,
    guarantee_of,
    make_document,
    promise_of_total,
)
from dphist.document.unit_words import Counted, Number, nouns_of_unit, number_shown, unit_in_words
from dphist.errors import ParameterError, UnsupportedError
from dphist.mechanism import ExpectedError
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.release.label_table import LabelTable
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.sentence import Sentence, joined, many_events

_DRAWN = 20  # labels that are drawn by name
_FEW = 4  # rows that have room, however few there are
_COUNTED = Counted(Sentence("{records} as the mechanism counts them"))
_EXACT, _PUBLIC = NoError("in the release, known exactly"), NoError("public and known exactly")
_LAST = "the table has the last one"


def document_of(
    kind: Kind, mechanism: Maker, data: DataFacts, release: Release | None = None
) -> Document:
    """Return what is to be said of a release of somebody else's mechanism, or of one to be made.

    Parameters
    ----------
    kind : of the released value.
    release : what the mechanism returned; without it, this is the dry run.

    Raises
    ------
    UnsupportedError
        If `expected_error` of the mechanism returns no `ExpectedError`.
    """
    expected, unit = expected_of(mechanism), guarantee_of(mechanism, data, release).unit
    guess = Number(data.guesses[0] if data.guesses else None, nouns_of_unit(unit)[1])
    number = guess if release is None else number_shown(release, 0)
    hidden = "A missing {label} need not be rare: noise may have hidden it."
    own = [(Sentence("{Labels} that are missing."), Sentence(hidden))]
    results, numbers = [Section("results", "Results", _errors(expected))], list[Section]()
    if release is not None:
        counts = counts_section(_COUNTED, always=True)
        has_counts = _table_of(release).counts is not None
        results = [
            counts if has_counts else replace(counts, on=frozenset()),
            Section("histogram", "Results", partial(_results, release), READ, wide=True),
        ]
        numbers = [Section("numbers", "", [*_sizes(release), *_errors(expected)])]
    return make_document(
        kind.name,
        kind.title,
        promise_of_total(mechanism, data, release, _neighbors(unit), number),
        results,
        numbers=numbers,
        limits=own if expected.appears_from else [],
        made_by=[_noise(expected)],
        reading="release.value  # the released table",
        unit=unit,
    )


def charts_of(release: Release) -> list[Chart]:
    """Return the chart of the first released counts, in the order released.

    Raises
    ------
    ParameterError
        If the release holds labels alone.
    """
    table = _table_of(release)
    if table.counts is None:
        raise ParameterError(
            "release", "must hold counts to be plotted; this one holds ranked labels alone"
        )
    counts = np.asarray(table.counts[:_DRAWN], np.float64)
    places, names = np.arange(len(counts)), [text or "" for text in table.texts[:_DRAWN]]
    low, high = bounds_of(release) or (counts, counts)
    low, high = low[:_DRAWN], high[:_DRAWN]
    least = float(min(np.min(low, initial=0), np.min(counts, initial=0)))
    most = float(max(np.max(high, initial=1), np.max(counts, initial=1)))
    margin = max(0.05 * (most - least), 1.0)
    spans = [] if bounds_of(release) is None else [Spans("95 % interval", places, low, high, "x")]
    return [
        Chart(
            "largest",
            Sentence("First {labels}"),
            "Released counts, with 95 % intervals where the mechanism states them.",
            Axis("Count", least - margin if least < 0 else 0, most + margin, whole=True),
            Axis("", max(len(counts), _FEW) - 0.4, -0.6, ticks=list(enumerate(names))),
            lines=[Line("Released", counts, places, "dots")],
            empty="" if len(counts) else Sentence("no {label} was released"),
            spans=spans,
            height=430,  # twenty labels are legible
        )
    ]


def expected_of(mechanism: Maker) -> ExpectedError:
    """Return the error that a mechanism expects."""
    found = mechanism.expected_error()
    if not isinstance(found, ExpectedError):
        raise UnsupportedError(
            f"expected_error of {type(mechanism).__name__} must return a "
            "dphist.mechanism.ExpectedError for labels and running counts"
        )
    return found


def bounds_of(release: Release) -> tuple[Any, Any] | None:
    """Return both ends of the 95 % intervals, (k,) int64; None if none are stated."""
    bounds = release.mechanism.intervals(release, LEVEL)
    if bounds is None or _table_of(release).counts is None:
        return None
    low, high = np.floor(np.asarray(bounds.lower)), np.ceil(np.asarray(bounds.upper))
    return low.astype(np.int64), high.astype(np.int64)


def _table_of(release: Release) -> LabelTable:
    """Return the labels: those of the last reading where there are several."""
    value: LabelTable | RunningCounts = release.value
    return value.latest if isinstance(value, RunningCounts) else value


def _neighbors(unit: PrivacyUnit) -> Sentence:
    """State which data are neighbors."""
    bounds = ", ".join(f"{name} {most:,}" for name, most in unit.bounds if most is not None)
    stated = " Bounds on {unit}: {bounds}." if bounds else ""
    return Sentence(
        f"D and D′ are neighbors if adding or removing {{unit}} turns one into the other.{stated}",
        unit=unit_in_words(unit),
        bounds=bounds,
    )


def _sizes(release: Release) -> list[Fact]:
    """Return how much was released."""
    value, texts = release.value, _table_of(release).texts
    released = sum(text is not None for text in texts)
    note = "fewer than wanted were found" if released < len(texts) else ""
    facts = [
        Fact(Sentence("{Labels}"), f"{released:,}", "labels", released, _EXACT, note, on=EVERYWHERE)
    ]
    if isinstance(value, RunningCounts):
        time, readings = int(value.times[-1]), len(value)
        facts = [
            Fact("Time", many_events(time), "time", time, _PUBLIC, on=EVERYWHERE),
            Fact("Readings", f"{readings:,}", "readings", readings, _EXACT, _LAST, on=EVERYWHERE),
            *facts,
        ]
    return facts


def _appearing(expected: ExpectedError) -> Sentence:
    """Say which labels are released."""
    if expected.appears_from is None:
        return Sentence("All listed {labels} are released.")
    return Sentence(
        "From a count of {least:,} on, {a_label} is released with a chance of {chance}; of a "
        "mechanism that looks at the largest counts only, from that many above the next count.",
        least=expected.appears_from,
        chance=f"{100 * expected.level:g} %",
    )


def _errors(expected: ExpectedError) -> list[Fact]:
    """Return which labels are released, and how far a count may be off."""
    facts = [Fact("Appearing", _appearing(expected), on=BRIEF)]
    if expected.half_width is not None:
        chance = f"{100 * expected.level:g} %"
        note = Sentence("with probability {chance}, for each {label} by itself", chance=chance)
        facts.insert(0, Fact("Error of counts", f"± {expected.half_width:,}", note=note))
    return facts


def _noise(expected: ExpectedError) -> Fact:
    scale = plain(up(expected.noise_scale))
    return Fact("Noise", f"scale {scale}", note="as the mechanism states it", on=HEADED)


def _results(release: Release) -> Sequence[Block]:
    """Return the released labels with their intervals, a chart, and which labels appear."""
    table, bounds = _table_of(release), bounds_of(release)
    texts = [text for text in table.texts if text is not None]
    columns = [Column(Sentence("{Label}"), texts, released=True)]
    counts: list[Block] = []
    if table.counts is not None and bounds is not None:
        columns.append(Column("Count", table.counts, *bounds, bars=DRAWN))
    elif table.counts is not None:
        columns.append(Column("Count", table.counts))
        counts = [Note("The mechanism states no intervals of single counts.", "aside")]
    if table.counts is not None:
        counts.append(Figures(charts_of(release), on=ON_PAGE))
    first = Sentence("The first {labels}")
    caption = Sentence("All released {labels}"), first, Sentence("{Labels}")
    empty = Sentence("No {label} was released: the table is empty.")
    appearing = _appearing(expected_of(release.mechanism))
    return [
        Table(columns, caption, empty, number="Rank"),
        *counts,
        Note(joined((appearing, CODES)), "aside", on=ON_PAGE),
    ]


def head_of_labels(table: LabelTable, most: int, caption: str = "The first labels") -> Table:
    """Return the first rows of a table of labels, of any type that labels have, as text."""
    head = LabelTable(table.to_arrow().slice(0, most))
    texts = ["(missing)" if text is None else text for text in head.texts]
    columns = [Column("label", texts, released=True)]
    if head.counts is not None:
        columns.append(Column("count", head.counts, bars=ON_CARD))
    return Table(columns, ("", caption, ""), "No label was released.", total=len(table))
