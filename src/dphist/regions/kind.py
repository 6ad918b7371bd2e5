"""KIND: anonymized histograms by region, declared once for all that shows, writes or reads them."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.anonymized.band import Band
from dphist.anonymized.words import prevalences_between
from dphist.data.regional_profile import RegionalProfile
from dphist.document.blocks import (
    EVERYWHERE,
    ON_JSON,
    ON_PAGE,
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
from dphist.document.bounding import bounding_of_records, numbers_of_bounding
from dphist.document.csv_rows import add_interval
from dphist.document.kind import DataFacts, Disclosed, Kind
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
from dphist.regions import words
from dphist.regions.auditing import AUDITING
from dphist.regions.charts import MOST_CHARTS, choose_regions, draw_charts, draw_regions
from dphist.regions.comparing import COMPARING
from dphist.regions.difference import compare_releases
from dphist.regions.histograms import RegionalHistograms
from dphist.regions.mechanism import RegionalBand, RegionalProfiles
from dphist.regions.planning import PLANNING
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.sentence import Sentence, join_sentences

_ROWS = 500  # of the table on a page


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of histograms by region, or of some that are not made yet."""
    neighbors = neighbors_in_words(mechanism.guarantee.unit.at_most, data.unit)
    neighbors = join_sentences((with_missing(neighbors, data.unit, data.bounds), words.MOVED))
    number = UNKNOWN if release is None else count_units(release)
    records = find_contribution(mechanism, data)
    promised = Promised(mechanism, data, release, neighbors, number, records)
    if release is None:
        results = [_make_expected_section(mechanism, data)]
        return make_document(
            KIND.name, words.TITLE, promised, results, limits=words.LIMITS, unit=data.unit
        )
    band, counted = release.mechanism.intervals(release), find_counted(release)
    cost, more = bounding_of_records(release)
    return make_document(
        KIND.name,
        words.TITLE,
        promised,
        [
            counts_section(counted, cost, more=more),
            Section("histogram", "Results", partial(_results, release, band, counted), READ, True),
        ],
        numbers=[Section("numbers", "", _numbers(release, band, counted))],
        result=words.say_result(release, band, _error_of_total(release).number),
        limits=words.LIMITS,
        reading="release.value[NAME].counts, release.value.level(0), release.value.to_pandas()",
        unit=data.unit,
    )


def _make_expected_section(mechanism: Any, data: DataFacts) -> Section:
    """Return the regions, and the errors to expect for guesses of the number of records."""
    blocks: list[Block] = [Fact("Regions", words.say_tree(mechanism.regions))]
    blocks += [Fact("Other regions", said) for said in words.say_other(data.bounds)]
    as_json = {}
    for guess in data.guesses:
        as_json[str(guess)] = [*mechanism.expected_errors(guess, data.shape)]
        blocks += [Fact(*each) for each in words.say_errors(mechanism, guess, data.shape)]
    blocks.append(Fact("", "", "regions", mechanism.regions.to_content(), on=ON_JSON))
    blocks.append(Fact("", "", "expected_errors", as_json, on=ON_JSON))
    return Section("results", "Results", blocks)


def _error_of_total(release: Release) -> PlusMinus:
    """Return the error of the total: the noise of all blocks of leaves together."""
    scan = release.mechanism.leaf_scan  # type: ignore[attr-defined]
    return PlusMinus.of(scan.standard_error_of_total(release))


def _numbers(release: Release, band: RegionalBand, counted: Counted) -> list[Block]:
    """Return the numbers that a reader wants to know first."""
    value, error = release.value, _error_of_total(release)
    records = release.total or 0
    labels = Between(band.lower.labels, band.upper.labels)
    source = Sentence("private estimate{after}", after=counted.after)
    other = [Fact("Other regions", said) for said in words.say_other(release.provenance)]
    intervals = {"labels": [labels.low, labels.high], "total": error.around(records)}
    return [
        Fact(Sentence("{Records}"), f"{records:,}", error=error, note=source),
        Fact("", "", "total", release.total, error=error, on=ON_JSON),
        Fact(
            Sentence("{Labels}"),
            f"{value.labels:,}",
            "labels",
            value.labels,
            error=labels,
            note="in the released histograms",
            on=EVERYWHERE,
        ),
        Fact("Regions", words.say_tree(value.regions)),
        Fact("", "", "regions", value.regions.to_content(), on=ON_JSON),
        Fact("", "", "intervals", intervals, on=ON_JSON),
        *other,
        *numbers_of_bounding(release),
    ]


def _results(release: Release, band: RegionalBand, counted: Counted) -> list[Block]:
    """Return the charts with their bands, and the table of regions with its intervals."""
    value = release.value
    tree = value.regions
    paths = tree.regions
    shown = paths[:_ROWS]
    held = [[each[path] for path in shown] for each in (value, band.lower, band.upper)]
    labels, low, high = ([each.labels for each in own] for own in held)
    totals, least, most = ([each.total for each in own] for own in held)
    columns = [
        Column("Region", [words.name_region(tree.name(path)) for path in shown]),
        Column(Sentence("{Labels}"), np.array(labels), np.array(low), np.array(high)),
        Column(counted.head("{Records}"), np.array(totals), np.array(least), np.array(most)),
        Column("Largest count", np.array([int(e.counts.max(initial=0)) for e in held[0]])),
    ]
    drawn = len(choose_regions(tree))
    first = f"The first {drawn} regions of a level are drawn." if drawn == MOST_CHARTS else ""
    return [
        Figures(draw_regions(release, band)),
        Note(join_sentences((words.say_band(band), first)), "aside", on=ON_PAGE),
        Table(columns, ("All regions", "The first regions", "The last regions"), total=len(paths)),
        Note(words.ADD_UP, "aside", on=ON_PAGE),
    ]


def make_table(release: Release) -> pa.Table:
    """Return columns region,count,prevalence,low,high: all regions from the top, ascending counts.

    The intervals are of prevalences.
    """
    value, band = release.value, release.mechanism.intervals(release)
    ends = [
        prevalences_between(Band(band.lower[path], band.upper[path], band.level, ""), value[path])
        for path in value.regions.regions
    ]
    low, high = (np.concatenate(each) for each in zip(*ends, strict=True))
    return add_interval(value.to_arrow(), low, high)


def disclose(mechanism: Any, _value: Any = None) -> Disclosed:
    """Return what is disclosed of a mechanism: its regions are public."""
    if not isinstance(mechanism, RegionalProfiles):
        return Disclosed()
    said = Sentence("The tree of regions: {tree}.", tree=words.say_tree(mechanism.regions))
    return Disclosed(public=[said])


def describe_value(value: RegionalHistograms, most: int) -> Section:
    """Return what is said of histograms by themselves: their regions."""
    shown = value.regions.regions[: 2 * most]
    columns = [
        Column("region", [words.name_region(value.regions.name(path)) for path in shown]),
        Column("labels", np.array([value[path].labels for path in shown])),
        Column("records", np.array([value[path].total for path in shown])),
    ]
    blocks: list[Block] = [
        Fact("Regions", words.say_tree(value.regions)),
        Table(columns, ("", "The first regions", ""), total=len(value.regions.regions)),
    ]
    return Section("value", "Released anonymized histograms by region", blocks)


KIND = Kind(
    name="regions",
    title=words.TITLE,
    value_type=RegionalHistograms,
    mechanism_type=RegionalProfiles,
    document=document,
    table=make_table,
    charts=draw_charts,
    comparing=COMPARING,
    data_type=RegionalProfile,
    accept=lambda mechanism, data: mechanism._accept(data),
    refuse_other=lambda mechanism, data: mechanism._accept(data),
    columns=lambda _value: "region, count, prevalence",
    disclosed=disclose,
    of_value=describe_value,
    planning=PLANNING,
    auditing=AUDITING,
    differing=compare_releases,
)
