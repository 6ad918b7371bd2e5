"""Cards of released values: the guarantee, the head of the table, a small figure."""

import pyarrow as pa
from markupsafe import Markup

from dphist.document.counted import counted_records
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import FOR_TESTS, Release
from dphist.release.running_counts import RunningCounts
from dphist.render.card import HEAD, Card, Table, card, draw_chart
from dphist.report.kinds import shown_as

_OF_RELEASE = "Released values. The guarantee stands in the release that they came from."


def card_of_release(release: Release) -> Card:
    """Return the card of a release."""
    try:
        return card(shown_as(release))
    except (ParameterError, UnsupportedError):  # nobody registered it, or pages cannot state it
        warning = f"Protects nobody: {FOR_TESTS}." if release.for_tests else ""
        facts = [("Guarantee", str(release.guarantee)), ("Protects", str(release.guarantee.unit))]
        return Card(f"Release of {type(release.mechanism).__name__}", facts, warning=warning)


def card_of_histogram(histogram: RangeHistogram) -> Card:
    """Return the card of a released histogram over ranges."""
    facts = [
        (f"Axis {histogram.axis_name(axis)}", f"{size:,} bins")
        for axis, size in enumerate(histogram.bins.shape)
    ]
    facts += [(f"Records {name}", f"{number:,}") for name, number in histogram.outside.items()]
    return Card(
        "Released histogram over ranges",
        facts,
        [_OF_RELEASE],
        tables=[_head(histogram.to_arrow())],
        figure=_figure_of_histogram(histogram),
    )


def card_of_anonymized(histogram: AnonymizedHistogram) -> Card:
    """Return the card of a released anonymized histogram."""
    facts = [("Labels", f"{histogram.labels:,}"), ("Records", f"{histogram.total:,}")]
    largest = [part[::-1][:HEAD].tolist() for part in (histogram.counts, histogram.prevalences)]
    rows, many = list(zip(*largest, strict=True)), len(histogram.counts)
    caption = f"The largest {HEAD} of {many:,} counts." if many > HEAD else ""
    table = Table(["count", "labels"], rows, many, caption=caption)
    return Card("Released anonymized histogram", facts, [_OF_RELEASE], tables=[table])


def card_of_labels(table: LabelTable) -> Card:
    """Return the card of released labels."""
    return Card("Released labels", [], [_OF_RELEASE], tables=[_labels(table)])


def card_of_stream(counts: RunningCounts) -> Card:
    """Return the card of running counts."""
    facts = [
        ("Readings", f"{len(counts):,}"),
        ("Events until the last", f"{int(counts.times[-1]):,}"),
        ("Labels in any reading", f"{len(counts.labels):,}"),
    ]
    table = _labels(counts.latest, f"The last reading, after {int(counts.times[-1]):,} events.")
    return Card("Released running counts", facts, [_OF_RELEASE], tables=[table])


def _head(table: pa.Table) -> Table:
    head = table.slice(0, HEAD)
    columns = [column.to_pylist() for column in head.columns]
    return Table(table.column_names, list(zip(*columns, strict=True)), table.num_rows)


def _labels(table: LabelTable, caption: str = "") -> Table:
    """Return the head of a table of labels, of any type that labels have, as text."""
    head = LabelTable(table.to_arrow().slice(0, HEAD))
    texts, counts = head.texts, head.counts
    if counts is None:
        return Table(["label"], [[text] for text in texts], len(table), caption=caption)
    rows = list(zip(texts, counts.tolist(), strict=True))
    return Table(["label", "count"], rows, len(table), "count" if rows else "", caption)


def _figure_of_histogram(histogram: RangeHistogram) -> Markup:
    from dphist.ranges.charts import bins_chart, map_of

    if histogram.bins.ndim > 2:
        return Markup()
    counted = counted_records(None, 1)
    chart = (bins_chart if histogram.bins.ndim == 1 else map_of)(histogram, counted)
    return draw_chart(chart, {})
