"""Released labels as facts, tables and charts, also by mechanisms of other packages.

Of such a mechanism only what `dphist.Mechanism` says is known.
"""

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
    PlusMinus,
    Section,
    Surface,
    Table,
)
from dphist.document.chart import Axis, Chart, Line, Spans
from dphist.document.guarantee_words import LEVEL
from dphist.document.kind import DataFacts, Kind
from dphist.document.promised import Promised, find_guarantee
from dphist.document.release import CODES, counts_section, make_document
from dphist.document.small_counts import write_below
from dphist.document.unit_words import Counted, Number, nouns_of_unit, number_shown, unit_in_words
from dphist.errors import ParameterError, UnsupportedError
from dphist.mechanism import ExpectedError
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.release.label_table import LabelTable
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.sentence import Sentence, join_sentences, many_events

MOST_NAMED = 20
"""Labels that are drawn by name."""

_FEW = 4  # rows that have room, however few there are
_NARROW = 10  # a logarithmic axis needs a range of more than this factor
_NONE = Sentence("No {label} was released: the table is empty.")
_COUNTED = Counted(Sentence("{records} as the mechanism counts them"))
_EXACT, _PUBLIC = NoError("in the release, known exactly"), NoError("public and known exactly")
_LAST = "the table has the last one"


def make_foreign_document(
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
    expected, unit = predict_error(mechanism), find_guarantee(mechanism, data, release).unit
    guess = Number(data.guesses[0] if data.guesses else None, nouns_of_unit(unit)[1])
    number = guess if release is None else number_shown(release, 0)
    hidden = "A missing {label} need not be rare: noise may have hidden it."
    own = [(Sentence("{Labels} that are missing."), Sentence(hidden))]
    results, numbers = [Section("results", "Results", _state_errors(expected))], list[Section]()
    if release is not None:
        counts = counts_section(_COUNTED, always=True)
        has_counts = _find_table(release).counts is not None
        results = [
            counts if has_counts else replace(counts, on=frozenset()),
            Section("histogram", "Results", partial(_list_results, release, data), READ, wide=True),
        ]
        numbers = [Section("numbers", "", [*_count_released(release), *_state_errors(expected)])]
    return make_document(
        kind.name,
        kind.title,
        Promised(mechanism, data, release, _neighbors(unit), number, unit),
        results,
        numbers=numbers,
        limits=own if expected.appears_from else [],
        made_by=[_state_noise(expected)],
        reading="release.value  # the released table",
        unit=unit,
    )


def draw_charts(release: Release) -> list[Chart]:
    """Return the chart of the first released counts, in the order released.

    Raises
    ------
    ParameterError
        If the release holds labels alone.
    """
    table = _find_table(release)
    if table.counts is None:
        raise ParameterError(
            "release", "must hold counts to be plotted; this one holds ranked labels alone"
        )
    text = "Released counts, with 95 % intervals where the mechanism states them."
    return [chart_of_first(table, find_bounds(release), Sentence("First {labels}"), text, _COUNTED)]


def predict_error(mechanism: Maker) -> ExpectedError:
    """Return the error that a mechanism expects."""
    found = mechanism.expected_error()
    if not isinstance(found, ExpectedError):
        raise UnsupportedError(
            f"expected_error of {type(mechanism).__name__} must return a "
            "dphist.mechanism.ExpectedError for labels and running counts"
        )
    return found


def find_bounds(release: Release) -> tuple[Any, Any] | None:
    """Return both ends of the 95 % intervals, (k,) int64; None if none are stated.

    Of weighted counts, float64.
    """
    bounds = release.mechanism.intervals(release, LEVEL)
    if bounds is None or _find_table(release).counts is None:
        return None
    if _find_table(release).step is not None:
        return bounds.lower, bounds.upper
    low, high = np.floor(np.asarray(bounds.lower)), np.ceil(np.asarray(bounds.upper))
    return low.astype(np.int64), high.astype(np.int64)


def _find_table(release: Release) -> LabelTable:
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


def _count_released(release: Release) -> list[Fact]:
    """Return how much was released."""
    value, facts = release.value, [number_of_labels(_find_table(release))]
    if isinstance(value, RunningCounts):
        time, readings = int(value.times[-1]), len(value)
        facts = [
            Fact("Time", many_events(time), "time", time, _PUBLIC, on=EVERYWHERE),
            Fact("Readings", f"{readings:,}", "readings", readings, _EXACT, _LAST, on=EVERYWHERE),
            *facts,
        ]
    return facts


def _say_appearing(expected: ExpectedError) -> Sentence:
    """Say which labels are released."""
    if expected.appears_from is None:
        return Sentence("All listed {labels} are released.")
    return Sentence(
        "From a count of {least:,} on, {a_label} is released with a chance of {chance}; of a "
        "mechanism that looks at the largest counts only, from that many above the next count.",
        least=expected.appears_from,
        chance=f"{100 * expected.level:g} %",
    )


def _state_errors(expected: ExpectedError) -> list[Fact]:
    """Return which labels are released, and how far a count may be off."""
    facts = [Fact("Appearing", _say_appearing(expected), on=BRIEF)]
    if expected.half_width is not None:
        chance = f"{100 * expected.level:g} %"
        note = Sentence("with probability {chance}, for each {label} by itself", chance=chance)
        facts.insert(0, Fact("Error of counts", f"± {expected.half_width:,}", note=note))
    return facts


def _state_noise(expected: ExpectedError) -> Fact:
    scale = plain(up(expected.noise_scale))
    return Fact("Noise", f"scale {scale}", note="as the mechanism states it", on=HEADED)


def _list_results(release: Release, data: DataFacts) -> Sequence[Block]:
    """Return the released labels with their intervals, a chart, and which labels appear."""
    table, bounds = _find_table(release), find_bounds(release)
    blocks: list[Block] = [table_of_labels(table, bounds, below=data.below)]
    if table.counts is not None and bounds is None:
        blocks.append(Note("The mechanism states no intervals of single counts.", "aside"))
    if table.counts is not None:
        blocks.append(Figures(draw_charts(release), on=ON_PAGE))
    appearing = _say_appearing(predict_error(release.mechanism))
    return [*blocks, Note(join_sentences((appearing, CODES)), "aside", on=ON_PAGE)]


def number_of_labels(table: LabelTable) -> Fact:
    """Return how many labels were released."""
    released = sum(text is not None for text in table.texts)
    note = "fewer than wanted were found" if released < len(table) else ""
    name = Sentence("{Labels}")
    return Fact(name, f"{released:,}", "labels", released, _EXACT, note, on=EVERYWHERE)


def error_of_counts(width: float, counted: Counted, more: str = "") -> Fact:
    """Return within what the noise of a count stays; `more` follows "for each label by itself"."""
    note = Sentence(
        "with probability 95 %, for each {label} by itself{more}{cut}", more=more, cut=counted.noise
    )
    return Fact("Error of counts", f"± {PlusMinus(width).number}", note=note)


def largest_error(largest: float, counted: Counted) -> Fact:
    """Return by how much no count is ever off, where noise ends."""
    note = Sentence(
        "the noise never changes a count by more: there it ends{cut}", cut=counted.noise
    )
    name = "Largest error"
    return Fact(name, f"{largest:,}", "largest_error", largest, _PUBLIC, note, on=EVERYWHERE)


def table_of_labels(
    table: LabelTable,
    bounds: tuple[Any, Any] | None = None,
    caption: tuple[str, str, str] | None = None,
    empty: str = _NONE,
    counts: str = "Count",
    number: str = "Rank",
    most: Any = None,
    below: int | None = None,
) -> Table:
    """Return released labels with their counts, if they have any.

    Parameters
    ----------
    bounds : both ends of the intervals of counts, (k,) int64.
    caption, empty : of the table, as in `Table`.
    counts : heading of the counts.
    number : heading of the rows' numbers.
    most : (k,) int64, upper bounds on counts before users were bounded, if any are known.
    below : smaller counts are not shown; None to show all.
    """
    texts = [text for text in table.texts if text is not None]
    columns = [Column(Sentence("{Label}"), texts, released=True)]
    if table.counts is not None:
        low, high = bounds or (None, None)
        on = DRAWN if bounds else frozenset[Surface]()
        columns.append(Column(counts, table.counts, low, high, bars=on))
    if most is not None:
        columns.append(Column("Before bounding, at most", most))
    if below is not None and table.counts is not None:
        small, (labels, first, *rest) = table.counts < below, columns
        left = [first.leave_out(small, write_below(below)), *(x.leave_out(small) for x in rest)]
        columns = [labels, *left]
    return Table(columns, caption or make_caption("The first {labels}"), empty, number=number)


def make_caption(first: str) -> tuple[str, str, str]:
    """Return the caption of a table of labels; `first` is what its first rows are."""
    return Sentence("All released {labels}"), Sentence(first), Sentence("{Labels}")


def chart_of_first(
    table: LabelTable,
    bounds: tuple[Any, Any] | None,
    title: str,
    text: str,
    counted: Counted,
    threshold: Any = (),
) -> Chart:
    """Declare the first counts, one a line, beside their labels.

    Parameters
    ----------
    bounds : both ends of the intervals of counts, if they have any.
    threshold : (1,) float64, a line across; (0,) for none.
    """
    counts, *ends = (
        np.asarray(each[:MOST_NAMED], np.float64) for each in (table.counts, *(bounds or ()))
    )
    places = np.arange(len(counts))
    names = [label or "" for label in table.texts[:MOST_NAMED]]
    y = Axis("", max(len(counts), _FEW) - 0.4, -0.6, ticks=list(enumerate(names)))
    lines = [Line(counted.released, counts, places, "dots")]
    if len(threshold):
        across = np.array([y.low, y.high])
        lines.append(Line("Threshold", np.repeat(threshold, 2), across, "dashed"))
    spans = []
    if ends:
        spans = [Spans("95 % interval", places, np.minimum(ends[0], counts), ends[1], "x")]
    return Chart(
        "largest",
        title,
        text,
        axis_of_counts(counted, counts, *ends, threshold),
        y,
        lines=lines,
        empty=none_released(table),
        spans=spans,
        height=430,  # twenty labels are legible
    )


def axis_of_counts(counted: Counted, *numbers: Any) -> Axis:
    """Return an axis of counts around all, logarithmic if they are positive and far apart."""
    label = Sentence("Count ({records}{after})", after=counted.after)
    values = np.concatenate(numbers)
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    if low > 0 and high > _NARROW * low:
        return Axis(label, low / 1.2, high * 1.2, log=True, whole=True)
    margin = max(0.08 * (high - low), 1)  # so that whole numbers can be marked
    return Axis(label, low - margin, high + margin, whole=True)


def none_released(table: LabelTable) -> str:
    """Say in the middle of a chart that there are no labels; empty if there are some."""
    return "" if len(table) else Sentence("no {label} was released")


def head_of_labels(table: LabelTable, most: int, caption: str = "The first labels") -> Table:
    """Return the first rows of a table of labels, of any type that labels have, as text."""
    head = table.head(most)
    texts = ["(missing)" if text is None else text for text in head.texts]
    columns = [Column("label", texts, released=True)]
    if head.counts is not None:
        columns.append(Column("count", head.counts, bars=ON_CARD))
    return Table(columns, ("", caption, ""), "No label was released.", total=len(table))
