"""What is said of a mean: document, table, charts, and a mean by itself."""

import math

import numpy as np
import pyarrow as pa

from dphist.document.blocks import (
    CARD,
    JSON,
    PAGE,
    READ,
    Between,
    Column,
    Document,
    Fact,
    Figures,
    Section,
    Table,
)
from dphist.document.chart import Axis, Chart, Line, Spans
from dphist.document.kind import DataFacts
from dphist.document.promised import Promised, find_contribution
from dphist.document.release import make_counts_fact, make_document
from dphist.document.unit_words import Counted, Number, count_units
from dphist.release.release import Release
from dphist.sentence import Sentence
from tests.support.means.mean import Mean
from tests.support.means.mechanism import NoisyMean

TITLE = "Mean amount"
NEIGHBORS = "D and D′ are neighbors if adding or removing one {record} turns one into the other."


def document(mechanism: NoisyMean, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of a release; without one, of what it would cost."""
    guess = Number(data.guesses[0] if data.guesses else None, "records")
    number = guess if release is None else count_units(release)
    records = find_contribution(mechanism, data)
    promised = Promised(mechanism, data, release, Sentence(NEIGHBORS), number, records)
    said = [Fact("Error of the sum", f"{mechanism.expected_error():,.3g}")]
    sections = [Section("results", "Results", said)]
    if release is not None:
        low, high = mean_interval(release)
        mean = release.value.mean
        interval = Between(math.floor(low), math.ceil(high))
        shown = Fact("Mean", f"{mean:,.2f}", "mean", mean, interval, on=READ | {JSON, CARD})
        sections = [
            Section(
                "histogram", "Results", [shown, make_counts_fact(Counted(Sentence("{records}")))]
            ),
            Section("drawn", "", [Figures(charts(release))], on=frozenset({PAGE, CARD})),
        ]
    return make_document(
        "means", TITLE, promised, sections, reading="release.value.mean", unit=data.unit
    )


def mean_interval(release: Release) -> tuple[float, float]:
    """Return a 95 % interval of the mean: both sums are within theirs, with 97.5 % each."""
    bounds = release.mechanism.intervals(release, 0.975)
    (low, fewest), (high, most) = bounds.lower.tolist(), bounds.upper.tolist()
    top = release.mechanism.most
    return max(low, 0) / max(most, 1), min(high / max(fewest, 1), top)


def make_table(release: Release) -> pa.Table:
    """Return one row: total, records and mean, with the interval of the mean."""
    value, (low, high) = release.value, mean_interval(release)
    columns = {"total": value.total, "records": value.records, "mean": value.mean}
    return pa.table({name: [each] for name, each in {**columns, "low": low, "high": high}.items()})


def charts(release: Release) -> list[Chart]:
    """Return a chart of the mean and its interval."""
    mean, (low, high) = np.array([release.value.mean]), mean_interval(release)
    place = np.array([0.5])
    axes = Axis("Mean", min(low, mean[0]) - 1, max(high, mean[0]) + 1), Axis("", 0, 1)
    spans = [Spans("95 % interval", place, np.array([low]), np.array([high]), "x")]
    lines = [Line("Released", mean, place, style="dots")]
    return [Chart("mean", TITLE, "The released mean.", *axes, lines=lines, spans=spans)]


def of_value(value: Mean, _most: int) -> Section:
    """Return what a notebook shows of a mean by itself."""
    cells = {"records": f"{value.records}", "mean": f"{value.mean}"}
    columns = [Column(name, [text], digits=True) for name, text in cells.items()]
    return Section("value", "Released mean", [Table(columns)])
