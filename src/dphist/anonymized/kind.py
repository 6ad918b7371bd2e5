"""KIND: anonymized histograms, declared once for all that shows, writes or reads them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from dphist.anonymized import words
from dphist.anonymized.auditing import AUDITING
from dphist.anonymized.band import ALL_LABELS, Band
from dphist.anonymized.charts import compute_bands, draw_charts
from dphist.anonymized.comparing import COMPARING
from dphist.anonymized.difference import compare_releases
from dphist.anonymized.measuring import check_profile
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.anonymized.planning import PLANNING
from dphist.data.profile import Profile
from dphist.document.blocks import (
    EVERYWHERE,
    HEADED,
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    READ,
    Between,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    Note,
    PlusMinus,
    Section,
    Table,
)
from dphist.document.bounding import add_share_cut, bounding_of_records, numbers_of_bounding
from dphist.document.csv_rows import add_interval
from dphist.document.kind import DataFacts, Disclosed, Kind
from dphist.document.mechanism_facts import parameters, public_parameters
from dphist.document.promised import Promised, find_contribution
from dphist.document.release import counts_section, make_document
from dphist.document.unit_words import (
    UNKNOWN,
    Counted,
    count_units,
    find_counted,
    neighbors_in_words,
    with_missing,
)
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.sentence import Sentence, join_sentences

_POPULATION = "What it says about the population"


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of an anonymized histogram, or of one that is not made yet."""
    sensitivity = mechanism.guarantee.unit.at_most
    neighbors = neighbors_in_words(sensitivity, data.unit)
    neighbors = with_missing(neighbors, data.unit, data.bounds)
    number = UNKNOWN if release is None else count_units(release)
    records = find_contribution(mechanism, data)
    promised = Promised(mechanism, data, release, neighbors, number, records)
    if release is None:
        results = [_make_expected_section(mechanism, data)]
        return make_document(KIND.name, words.TITLE, promised, results, unit=data.unit)
    bands, counted = compute_bands(release), find_counted(release)
    cost, more = bounding_of_records(release)
    results = [
        counts_section(counted, cost, more=more),
        Section("histogram", "Results", partial(_results, release, bands, counted), READ, True),
        Section("population", _POPULATION, partial(_population, release), ON_PAGE),
    ]
    numbers = [
        Section("numbers", "", _numbers(release, bands[0], counted)),
        Section("error", "", partial(_make_expected_blocks, release), HEADED),
    ]
    return make_document(
        KIND.name,
        words.TITLE,
        promised,
        results,
        numbers=numbers,
        result=words.describe_result(release, bands[0]),
        made_by=[Fact("Expected error", words.describe_prediction(release), on=ON_PAGE)],
        reading="release.value.counts, release.value.prevalences",
        unit=data.unit,
    )


def _make_expected_section(mechanism: Any, data: DataFacts) -> Section:
    """Return the errors to expect for guesses of the number of records."""
    errors = {guess: mechanism.expected_error(guess, data.shape) for guess in data.guesses}
    said = [Fact("Expected error", words.error_if(*each)) for each in errors.items()]
    as_json = {str(guess): error for guess, error in errors.items()}
    program = Fact("", "", "expected_error", as_json, on=ON_JSON)
    return Section("results", "Results", [*said, program])


def _numbers(release: Release, band: Band, counted: Counted) -> list[Fact]:
    """Return the numbers that a reader wants to know first."""
    value, records = release.value, words.count_records(release)
    source = "in the released histogram" if release.total is None else "private estimate"
    error, labels = (
        words.error_of_records(release, band),
        Between(band.lower.labels, band.upper.labels),
    )
    of_records = Sentence("{source}{after}", source=source, after=counted.after)
    of_labels: str = "in the released histogram"
    if band.covers != ALL_LABELS:
        of_labels = Sentence("{of}; the interval covers {covers}", of=of_labels, covers=band.covers)
    intervals = {"labels": [labels.low, labels.high]}
    if isinstance(error, PlusMinus):
        intervals["total"] = error.around(records)
    return [
        Fact(Sentence("{Records}"), f"{records:,}", error=error, note=of_records),
        Fact("", "", "total", release.total, error=error, on=ON_JSON),
        Fact(
            Sentence("{Labels}"),
            f"{value.labels:,}",
            "labels",
            value.labels,
            error=labels,
            note=of_labels,
            on=EVERYWHERE,
        ),
        Fact("", "", "intervals", intervals, on=ON_JSON),
        *numbers_of_bounding(release),
    ]


def _make_expected_blocks(release: Release) -> list[Block]:
    """Return the error to expect; the mechanism is tried on public data for it."""
    short, added, long = words.predict_error(release)
    return [
        Fact("Expected error", short, note=added, on=ON_PAGE),
        Fact("Expected error", long, on=ON_TERMINAL),
    ]


def _results(release: Release, bands: list[Band], counted: Counted) -> list[Block]:
    """Return the charts with their bands, and the table with its intervals."""
    value, (band, *bars) = release.value, bands
    counts = value.counts
    columns = [
        Column(counted.head(), counts),
        Column(
            Sentence("{Labels} with it"), value.prevalences, *words.prevalences_between(band, value)
        ),
        Column(
            "With it or more",
            value.cumulative_prevalences(counts),
            band.lower.cumulative_prevalences(counts),
            band.upper.cumulative_prevalences(counts),
        ),
    ]
    caption = ("All counts", "Largest counts", "Smallest counts")
    of_bands = join_sentences(
        (words.band_in_words(band), *map(words.bars_in_words, bars), words.LOGARITHMIC)
    )
    blocks: list[Block] = [
        Figures(draw_charts(release)),
        Note(of_bands, "aside", on=ON_PAGE),
        Table([_largest_first(column) for column in columns], caption, words.NO_LABEL),
    ]
    if value.labels:
        blocks.append(Note(words.table_in_words(release, band, counted), "aside", on=ON_PAGE))
    return blocks


def _largest_first(column: Column) -> Column:
    """Return a column from the largest count down."""
    low, high = (None if end is None else end[::-1] for end in (column.low, column.high))
    return Column(column.name, column.cells[::-1], low, high)


def _population(release: Release) -> Sequence[Block]:
    """Return what the histogram says about its population; for pages alone, as it takes seconds."""
    from dphist.properties.overview import population_blocks  # slow to import

    return population_blocks(release)


def make_table(release: Release) -> pa.Table:
    """Return columns count,prevalence,low,high, ascending counts: intervals of prevalences.

    Where the release says how many users have how many records, the share that bounding dropped
    follows, with its interval, the same in each row.
    """
    ends = words.prevalences_between(compute_bands(release)[0], release.value)
    return add_share_cut(add_interval(release.value.to_arrow(), *ends), release)


def disclose(mechanism: AnonymizedMechanism, _value: Any = None) -> Disclosed:
    """Return what is disclosed of a mechanism."""
    values = {each.name: each.value for each in parameters(mechanism)}
    public = [
        f"The parameter {name} = {values[name]}, which was given as public knowledge."
        for name in public_parameters(mechanism)
    ]
    return Disclosed(public=public)


def describe_value(histogram: AnonymizedHistogram, _most: int) -> Section:
    """Return what is said of a histogram: its size, and its largest counts."""
    counts, labels = (part[::-1] for part in (histogram.counts, histogram.prevalences))
    blocks: list[Block] = [
        Fact("Labels", f"{histogram.labels:,}"),
        Fact("Records", f"{histogram.total:,}"),
        Table([Column("count", counts), Column("labels", labels)], ("", "The largest counts", "")),
    ]
    return Section("value", "Released anonymized histogram", blocks)


KIND = Kind(
    name="anonymized",
    title=words.TITLE,
    value_type=AnonymizedHistogram,
    mechanism_type=AnonymizedMechanism,
    document=document,
    table=make_table,
    charts=draw_charts,
    comparing=COMPARING,
    data_type=Profile,
    accept=lambda mechanism, data: mechanism._accept(data),
    refuse_other=lambda _mechanism, data: check_profile(data),
    columns=lambda _value: "count, prevalence",
    disclosed=disclose,
    of_value=describe_value,
    planning=PLANNING,
    auditing=AUDITING,
    differing=compare_releases,
)
