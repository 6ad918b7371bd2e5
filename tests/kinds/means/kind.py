"""KIND: means, declared once for all that shows, writes, pays for and checks them."""

import math
from argparse import Namespace

import numpy as np

from dphist.document.blocks import (
    CARD,
    JSON,
    PAGE,
    READ,
    Between,
    Document,
    Fact,
    Figures,
    NoError,
    Section,
)
from dphist.document.chart import Axis, Chart, Line, Spans
from dphist.document.counted import Counted, number_of
from dphist.document.csv_field import Field
from dphist.document.delta_words import Number
from dphist.document.disclosed import Disclosed
from dphist.document.kind import DataFacts, Kind, Releasing
from dphist.document.of_value import OfValue, Table
from dphist.document.options import option_of
from dphist.document.release import (
    IF_RELEASED,
    RELEASED,
    citing_section,
    counts_of,
    mechanism_section,
    promise_of_records,
    slots_of_owner,
    version_of,
    warnings_of_release,
)
from dphist.release.release import Release
from dphist.sentence import Sentence
from tests.kinds.means.amounts import Amounts
from tests.kinds.means.mean import Mean
from tests.kinds.means.mechanism import NoisyMean

TITLE = "Mean amount"
NEIGHBORS = "D and D′ are neighbors if adding or removing one {record} turns one into the other."


def document(mechanism: NoisyMean, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of a release; without one, of what it would cost."""
    guess = Number(data.guesses[0] if data.guesses else None, "records")
    number = guess if release is None else number_of(release)
    promised = promise_of_records(mechanism, data, release, Sentence(NEIGHBORS), number)
    said = [Fact("Error of the sum", f"{mechanism.expected_error():,.3g}")]
    sections = [Section("results", "Results", said)]
    if release is not None:
        low, high = mean_interval(release)
        mean = release.value.mean
        interval = Between(math.floor(low), math.ceil(high))
        shown = Fact("Mean", f"{mean:,.2f}", "mean", mean, interval, on=READ | {JSON, CARD})
        sections = [
            Section("histogram", "Results", [shown, counts_of(Counted(Sentence("{records}")))]),
            Section("drawn", "", [Figures(charts(release))], on=frozenset({PAGE, CARD})),
            citing_section(release, "release.value.mean"),
        ]
    name = Fact("", TITLE, "title", error=NoError("a name"), on=frozenset())
    return Document(
        kind="means",
        title=data.presentation.title or TITLE,
        made=IF_RELEASED if release is None else RELEASED,
        version=version_of(release),
        slots=slots_of_owner(data.presentation, data.unit),
        headline=promised.short,
        lead=promised.lead,
        warnings=warnings_of_release(release),
        glance=[promised.glance()],
        sections=[
            *sections,
            promised.section(release),
            mechanism_section(mechanism, [], planned=release is None),
            Section("name", "", [name]),
        ],
    )


def mean_interval(release: Release) -> tuple[float, float]:
    """Return a 95 % interval of the mean: both sums are within theirs, with 97.5 % each."""
    bounds = release.mechanism.intervals(release, 0.975)
    (low, fewest), (high, most) = bounds.lower.tolist(), bounds.upper.tolist()
    top = release.mechanism.most
    return max(low, 0) / max(most, 1), min(high / max(fewest, 1), top)


def table(release: Release, field: Field) -> str:
    """Return one row: total, records and mean."""
    value = release.value
    return f"total,records,mean\n{value.total},{value.records},{value.mean}\n"


def charts(release: Release) -> list[Chart]:
    """Return a chart of the mean and its interval."""
    mean, (low, high) = np.array([release.value.mean]), mean_interval(release)
    place = np.array([0.5])
    axes = Axis("Mean", min(low, mean[0]) - 1, max(high, mean[0]) + 1), Axis("", 0, 1)
    spans = [Spans("95 % interval", place, np.array([low]), np.array([high]), "x")]
    lines = [Line("Released", mean, place, style="dots")]
    return [Chart("mean", TITLE, "The released mean.", *axes, lines=lines, spans=spans)]


def of_value(value: Mean, _most: int) -> OfValue:
    """Return what a notebook shows of a mean by itself."""
    return OfValue("Released mean", Table(["records", "mean"], [[value.records, value.mean]], 1))


def mechanism_of(options: Namespace) -> NoisyMean:
    """Return the mechanism that a command line asks for."""
    return NoisyMean(epsilon=options.epsilon, most=options.most)


def read(options: Namespace) -> Amounts:
    """Read FILE."""
    return Amounts.read(options.file, options.most)


KIND = Kind(
    name="means",
    title=TITLE,
    value_type=Mean,
    mechanism_type=NoisyMean,
    document=document,
    table=table,
    charts=charts,
    data_type=Amounts,
    accept=lambda mechanism, data: mechanism.accept(data),
    columns=lambda _value: "total, records, mean",
    disclosed=lambda _mechanism, _value: Disclosed(public=["The maximum of an amount."]),
    of_value=of_value,
    commands={
        "mean": Releasing(
            summary="release the mean of a column",
            text="Release the mean of whole numbers from 0 to a public maximum.",
            epilog="FILE has one number a line.",
            columns="total,records,mean",
            options=[
                option_of(NoisyMean, "epsilon", required=True),
                option_of(NoisyMean, "most", required=True),
            ],
            mechanism=mechanism_of,
            read=read,
        )
    },
)
