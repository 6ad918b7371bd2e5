"""KIND: histograms over ranges, declared once for all that shows, writes or reads them."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.binned_counts import BinnedCounts
from dphist.document.blocks import (
    BRIEF,
    EVERYWHERE,
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    READ,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    Note,
    PlusMinus,
    Section,
    Surfaces,
    Table,
    number_text,
)
from dphist.document.bounding import add_share_cut, bounding_of_records, numbers_of_bounding
from dphist.document.csv_rows import edge_texts
from dphist.document.kind import DataFacts, Disclosed, Kind
from dphist.document.promised import Promised, find_contribution
from dphist.document.release import counts_section, make_document
from dphist.document.unit_words import (
    Counted,
    count_units,
    describe_counted_records,
    find_counted,
    number_guessed,
)
from dphist.ranges import words
from dphist.ranges.auditing import AUDITING
from dphist.ranges.charts import bins_chart, draw_charts, draw_map, find_window
from dphist.ranges.comparing.case import COMPARING
from dphist.ranges.counts import refuse_other_data
from dphist.ranges.difference import compare_releases
from dphist.ranges.mechanism import RangesMechanism
from dphist.ranges.overview import (
    Parts,
    Quantile,
    axis_text,
    divide,
    error_outside,
    list_outside,
    list_quantiles,
    make_parts,
    sum_all,
    tabulate_bins,
    usual_error,
)
from dphist.ranges.planning import PLANNING
from dphist.release.maker import Maker
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence

_LISTED = 10  # bins of an axis that are all shown
_LISTED_ON_PAGE = 60  # of the only axis
_PARTS, _FEW_PARTS = 8, 4  # of an axis with more bins; of each axis where all bins are very many
_FEW = 2**22  # bins; of more, a range in several axes takes seconds


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of a histogram over ranges, or of one that is not made yet."""
    neighbors = words.neighbors_in_words(mechanism.guarantee.unit.at_most, data)
    number = (
        number_guessed(data.guesses, mechanism.guarantee.unit, data.unit)
        if release is None
        else count_units(release)
    )
    records = find_contribution(mechanism, data)
    promised = Promised(mechanism, data, release, neighbors, number, records)
    if release is None:
        return make_document(
            KIND.name,
            words.TITLE,
            promised,
            [_make_expected_section(mechanism, data)],
            limits=words.limits_in_words(True),
            noise_on=frozenset(),
            unit=data.unit,
        )
    value, counted = release.value, find_counted(release)
    cost, more = bounding_of_records(release)
    parts = _make_parts(value)
    quantiles = list_quantiles(value) if value.counts.ndim == 1 else []
    results = partial(_results, release, counted, parts, quantiles)
    return make_document(
        KIND.name,
        words.make_title(value),
        promised,
        [
            counts_section(counted, cost, more=more),
            Section("histogram", "Results", results, READ, wide=True),
        ],
        numbers=[
            Section("numbers", "", _numbers(release, counted)),
            Section("error", "", partial(_error_of_bins, value, counted), READ),
        ],
        result=words.describe_result(value, quantiles, parts[0], axis_text(value, 0)),
        limits=words.limits_in_words(value.has_edges),
        noise_on=frozenset(),
        reading=_reading(value),
        unit=data.unit,
    )


def _make_expected_section(mechanism: Any, data: DataFacts) -> Section:
    """Return the bins, and the errors to expect for guesses of the number of records."""
    errors = {guess: mechanism.expected_error(guess) for guess in data.guesses}
    as_json = {str(guess): error for guess, error in errors.items()}
    return Section(
        "results",
        "Results",
        [
            Fact("Bins", words.bins_in_words(mechanism.bins)),
            *(Fact("Expected error", words.error_if(*each)) for each in errors.items()),
            Fact("", "", "bins", list(mechanism.bins), on=ON_JSON),
            Fact("", "", "expected_error", as_json, on=ON_JSON),
        ],
    )


def _make_parts(value: RangeHistogram) -> list[Parts]:
    """Return parts of each axis; of a single one, that of the charts is divided."""
    few = value.counts.ndim > 1 and value.counts.size > _FEW

    def divide_bins(bins: int) -> IntArray:
        return divide(bins, _FEW_PARTS if few else _LISTED if bins <= _LISTED else _PARTS)

    if value.counts.ndim > 1:
        divided = [divide_bins(bins) for bins in value.counts.shape]
    else:
        window = find_window(value, 0)
        inner = window.start + divide_bins(window.stop - window.start)
        divided = [np.unique(np.concatenate([[0], inner, [value.counts.size]]))]
    return [make_parts(value, axis, places) for axis, places in enumerate(divided)]


def _numbers(release: Release, counted: Counted) -> list[Fact]:
    """Return the numbers that a reader wants to know first."""
    value = release.value
    count, half_width = sum_all(value)
    error = PlusMinus(half_width)
    of_records = Sentence("in the bins, private estimate{after}", after=counted.after)
    return [
        Fact(Sentence("{Records}"), number_text(count), error=error, note=of_records),
        Fact("", "", "total", release.total, error=error, on=ON_JSON),
        Fact("", "", "intervals", {"total": error.around(round(count))}, on=ON_JSON),
        Fact("Bins", f"{value.counts.size:,}", note=words.axes_in_words(value)),
        Fact("", "", "bins", list(value.counts.shape), on=ON_JSON),
        *_time_zones(value),
        *numbers_of_bounding(release),
    ]


def _time_zones(value: RangeHistogram) -> list[Fact]:
    """Return the time zones of the axes, if they have any."""
    names, zones = words.zones_in_words(value), [axis.zone for axis in value.axes]
    note = "edges are times of clocks there"
    return (
        [Fact("Time zone", names, "time_zones", zones, note=note, on=EVERYWHERE)] if names else []
    )


def _error_of_bins(value: RangeHistogram, counted: Counted) -> list[Fact]:
    """Return the error of usual bins; nothing if there are no records by the estimates."""
    usual = usual_error(value)
    if usual is None:
        return []
    half = f"± {PlusMinus.of(usual).number}"
    return [Fact("Error of a bin", half, note=words.usual_in_words(counted))]


def _results(
    release: Release, counted: Counted, parts: list[Parts], quantiles: list[Quantile]
) -> list[Block]:
    """Return the charts with their bands, and tables with their intervals."""
    value = release.value
    blocks: list[Block] = []
    if value.counts.ndim <= 2:
        blocks.append(Figures(draw_charts(release)))
    every = value.counts.ndim == 1 and _LISTED < value.counts.size <= _LISTED_ON_PAGE
    shown_on = READ - ON_PAGE if every else READ
    blocks += [_table(value, axis, each, counted, shown_on) for axis, each in enumerate(parts)]
    if every:
        bins = make_parts(value, 0, np.arange(value.counts.size + 1))
        blocks.append(_table(value, 0, bins, counted, ON_PAGE))
    if quantiles:
        blocks.append(_table_of_quantiles(value, quantiles))
    if value.outside:
        blocks += _in_no_bin(release, counted)
    blocks.append(Note(words.errors_in_words(release.mechanism), "aside", on=ON_PAGE))
    if quantiles:
        blocks.append(Note(words.OF_QUANTILES, "aside", on=ON_PAGE))
    elif value.counts.ndim == 1:
        blocks.append(Note(words.NO_QUANTILES))
    if value.counts.size > _LISTED and not every:
        whole = Sentence(
            "The table of all {bins:,} bins is in the release file, and in the CSV that the "
            "command below writes.",
            bins=value.counts.size,
        )
        blocks.append(Note(whole, "aside", on=ON_PAGE))
    return blocks


def _in_no_bin(release: Release, counted: Counted) -> list[Block]:
    """Return the records that lie in no bin: a table of a page, and facts elsewhere."""
    outside, error = list_outside(release), PlusMinus.of(error_outside(release))
    where = [f"{text[0].upper()}{text[1:]}" for text, _ in outside]
    # Numbers of a damaged file may need more than 64 bits.
    counts = np.array([count for _, count in outside], object)
    ends = np.array([error.around(count) for _, count in outside], object).T
    columns = [Column("What", where), Column(counted.head("{Records}"), counts, *ends)]
    return [
        Table(columns, ("In no bin", "", ""), on=ON_PAGE),
        *(Fact("In no bin", f"{n:,}", error=error, note=text, on=BRIEF) for text, n in outside),
    ]


def _table(value: RangeHistogram, axis: int, parts: Parts, counted: Counted, on: Surfaces) -> Table:
    """Return the parts of an axis with their records."""
    name = axis_text(value, axis)
    ranges = [f"{start} to {stop}" for start, stop in pairwise(parts.edges)]
    caption: str = Sentence("By {name}", name=name)
    if value.counts.ndim == 1:
        caption = "All bins" if value.counts.size == len(ranges) else "Parts of the bins"
    columns = [
        Column(Sentence("{name}: from, to below", name=name), ranges),
        Column(counted.head("{Records}"), parts.counts, parts.low, parts.high, bars=ON_TERMINAL),
    ]
    return Table(columns, (caption, caption, ""), on=on)


def _table_of_quantiles(value: RangeHistogram, quantiles: list[Quantile]) -> Table:
    columns = [
        Column(Sentence("{Records}"), [each.meaning for each in quantiles]),
        Column("Place", [each.place for each in quantiles]),
        Column("95 % interval", [each.interval for each in quantiles]),
    ]
    return Table(
        columns, (Sentence("Quantiles of {name}", name=words.names_in_words(value)), "", "")
    )


def _reading(value: RangeHistogram) -> str:
    """Return Python that reads a histogram."""
    ends = []
    for place in (0, 2):
        edges = [axis.edges[min(place, axis.bins) :][:1] for axis in value.axes]
        zones = [axis.zone for axis in value.axes]
        ends.append([_in_code(edge_texts(*each)[0]) for each in zip(edges, zones, strict=True)])
    first, last = (", ".join(each) for each in ends)
    if value.counts.ndim > 1:
        box = f"({first}), ({last})"
        shown = (
            f"histogram.count({box}), histogram.interval({box})  # from edge to edge\n"
            "histogram.to_pandas()"
        )
    else:
        shown = (
            f"histogram.count({first}, {last}), histogram.interval({first}, {last})"
            "  # from edge to edge\nhistogram.median(), histogram.quantile(0.9), histogram.mean(), "
            "histogram.to_pandas()"
        )
    return f"histogram = release.value\n{shown}"


def _in_code(edge: str) -> str:
    """Return the text of an edge as Python.

    >>> _in_code("18"), _in_code("-inf"), _in_code("2024-01-31")
    ('18', 'float("-inf")', '"2024-01-31"')
    """
    if edge in ("inf", "-inf"):
        return f'float("{edge}")'
    return f'"{edge}"' if edge.count("-") > 1 and "e" not in edge else edge


def make_table(release: Release) -> pa.Table:
    """Return a row a bin: columns start,stop,count,error,low,high.

    Several axes have start_x,stop_x,... by their names.
    Where the release says how many users have how many records, the share that bounding dropped
    follows, with its interval, the same in each row.

    Edges are numbers, dates or times. Errors are standard errors in records. Rows are in the order
    of the bins; the last axis varies fastest.
    """
    return add_share_cut(tabulate_bins(release.value), release)


def disclose(_mechanism: RangesMechanism, value: RangeHistogram | None = None) -> Disclosed:
    """Return what is disclosed of a mechanism, and of a histogram: its edges are public."""
    if value is None:
        return Disclosed(public=["The number of bins."])
    what = "The columns and the edges of the bins" if value.has_edges else "The number of bins"
    zones = words.zones_in_words(value)
    where = f" (time zone: {zones})" if zones else ""
    return Disclosed(public=[f"{what}: {words.axes_in_words(value)}{where}."])


def describe_value(histogram: RangeHistogram, most: int) -> Section:
    """Return what is said of a histogram, with up to `most` rows."""
    axes = enumerate(histogram.counts.shape)
    facts = [
        Fact(
            f"Axis {histogram.axis_name(axis)}",
            f"{size:,} bins",
            note=histogram.axes[axis].zone or "",
        )
        for axis, size in axes
    ]
    facts += [Fact(f"Records {name}", f"{number:,}") for name, number in histogram.outside.items()]
    table, columns = histogram.to_arrow(), list[Column]()
    for name in table.column_names:
        cells = table[name].slice(0, most).to_pylist()
        digits = isinstance(cells[0], int | float)
        columns.append(Column(name, [_cell(each) for each in cells], digits=digits))
    caption = "", "The first bins", ""
    blocks: list[Block] = [*facts, Table(columns, caption, total=table.num_rows)]
    charts = {1: bins_chart, 2: draw_map}
    chart = charts.get(histogram.counts.ndim)
    if chart is not None:
        blocks.append(Figures([chart(histogram, describe_counted_records(None, 1))]))
    return Section("value", "Released histogram over ranges", blocks)


def _cell(value: Any) -> str:
    """Write an edge, a count or an error."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value.isoformat().removesuffix("T00:00:00")


KIND = Kind(
    name="ranges",
    title=words.TITLE,
    value_type=RangeHistogram,
    mechanism_type=RangesMechanism,
    document=document,
    table=make_table,
    charts=draw_charts,
    comparing=COMPARING,
    data_type=BinnedCounts,
    accept=lambda mechanism, data: mechanism._accept(data),
    refuse_other=lambda mechanism, data: refuse_other_data(data, mechanism.bins),
    columns=lambda _value: "start, stop (of each axis), count, error",
    disclosed=disclose,
    of_value=describe_value,
    planning=PLANNING,
    auditing=AUDITING,
    differing=compare_releases,
)
