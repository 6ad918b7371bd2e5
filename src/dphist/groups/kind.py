"""KIND: histograms by group, declared once for all that shows, writes or reads them."""

from functools import partial

import numpy as np
import pyarrow as pa

from dphist.document.blocks import (
    ON_JSON,
    ON_PAGE,
    READ,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    Note,
    Section,
    Table,
    number_text,
)
from dphist.document.kind import DataFacts, Disclosed, Kind
from dphist.document.promised import Promised, find_contribution
from dphist.document.release import counts_section, make_document
from dphist.document.unit_words import (
    Counted,
    count_units,
    describe_counted_records,
    find_counted,
    neighbors_in_words,
    number_guessed,
)
from dphist.groups import words
from dphist.groups.auditing import AUDITING
from dphist.groups.charts import draw_charts, draw_groups
from dphist.groups.command import COMMAND
from dphist.groups.comparing.case import COMPARING
from dphist.groups.difference import compare_releases
from dphist.groups.grouped_counts import GroupedCounts, refuse_other_data
from dphist.groups.grouping import find_group
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.measuring import GroupsMeasuring
from dphist.groups.mechanism import GroupedHistogram
from dphist.groups.overview import (
    SHARES,
    GroupLine,
    bins_text,
    column_text,
    estimate_text,
    estimate_total,
    interval_text,
    make_lines,
    place_of_bins,
)
from dphist.groups.planning import PLANNING
from dphist.ranges.overview import tabulate_bins
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.sentence import Sentence, many
from dphist.tables import words as key_words
from dphist.tables.discovery import LabelSearch
from dphist.visible import harmless

_ROWS = 500  # that a page shows
_GUESSES = (1_000, 10_000)


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of histograms by group, or of some that are not made yet."""
    unit, search = mechanism.guarantee.unit, _find_search(mechanism)
    alone = unit.at_most == 1 and data.unit is None and search is None
    neighbors = words.NEIGHBORS if alone else neighbors_in_words(unit.at_most, data.unit)
    number = (
        number_guessed(data.guesses, unit, data.unit) if release is None else count_units(release)
    )
    records = find_contribution(mechanism, data)
    promised = Promised(mechanism, data, release, neighbors, number, records)
    limits = words.LIMITS if search is None else words.LIMITS_OF_FOUND
    if release is None:
        return make_document(
            KIND.name,
            words.TITLE,
            promised,
            [_make_expected_section(mechanism, data)],
            limits=limits,
            noise_on=frozenset(),
        )
    value, counted = release.value, find_counted(release)
    lines = make_lines(value)
    count, error = estimate_total(value)
    return make_document(
        KIND.name,
        words.make_title(value),
        promised,
        [
            counts_section(counted),
            Section(
                "groups", "Results", partial(_results, release, lines, counted), READ, wide=True
            ),
        ],
        numbers=[Section("numbers", "", _numbers(release, lines, counted))],
        result=words.say_result(value, lines, count, error),
        limits=limits,
        noise_on=frozenset(),
        reading=_reading(value),
    )


def _find_search(mechanism: Maker) -> LabelSearch | None:
    """Return how groups are found; None if they are listed, or that is unknown."""
    return mechanism.search if isinstance(mechanism, GroupedHistogram) else None


def _make_expected_section(mechanism: Maker, data: DataFacts) -> Section:
    """Return the groups and bins, and the error to expect of a rank in a group."""
    assert isinstance(mechanism, GroupedHistogram)  # noqa: S101 - a dry run is of a mechanism of ours
    errors = {guess: mechanism.expected_error(guess) for guess in data.guesses or _GUESSES}
    group = find_group(mechanism.groups)
    return Section(
        "results",
        "Results",
        [
            Fact("Groups", f"{harmless(group.name, 40)}: {key_words.describe_key(group)}"),
            *_facts_of_search(mechanism),
            Fact("Bins", f"{mechanism.bins:,} of each group"),
            *(Fact("Expected error", words.say_expected(*each)) for each in errors.items()),
            Fact("", "", "groups", mechanism.groups.to_content(), on=ON_JSON),
            Fact("", "", "bins", [mechanism.bins], on=ON_JSON),
            Fact(
                "",
                "",
                "expected_error",
                {str(guess): error for guess, error in errors.items()},
                on=ON_JSON,
            ),
        ],
    )


def _facts_of_search(mechanism: Maker) -> list[Block]:
    """Return how groups are found, if they are."""
    search = _find_search(mechanism)
    if search is None:
        return []
    return [
        Fact("Groups found", key_words.say_search(search)),
        Fact("", "", "found_groups", key_words.list_search(search), on=ON_JSON),
    ]


def _numbers(release: Release, lines: list[GroupLine], counted: Counted) -> list[Block]:
    """Return the numbers that a reader wants to know first."""
    value = release.value
    count, error = estimate_total(value)
    small = words.list_small(lines)
    note = Sentence("in the bins of all groups, private estimate{after}", after=counted.after)
    shown = [
        Fact(Sentence("{Records}"), number_text(round(count)), error=error, note=note),
        Fact("", "", "total", release.total, error=error, on=ON_JSON),
        Fact("Groups", f"{len(lines):,}", note=harmless(value.name, 40)),
        Fact("Bins", f"{value.axis.bins:,}", note=place_of_bins(value)),
        *([Fact("Too small", small, note="no quantile is known")] if small else []),
        Fact("", "", "intervals", {"total": error.around(round(count))}, on=ON_JSON),
        Fact("", "", "groups", value.groups.to_content(), on=ON_JSON),
        Fact("", "", "quantiles", _to_json(value, lines), on=ON_JSON),
        Fact("", "", "bins", [value.axis.bins], on=ON_JSON),
        *_facts_of_search(release.mechanism),
    ]
    if release.provenance.get("unlisted") == "drop":
        shown.append(Fact("Not counted", "others", note=words.UNLISTED))
    return shown


def _to_json(value: HistogramsByGroup, lines: list[GroupLine]) -> list[dict[str, object]]:
    """Return what programs read of each group; null where a group is too small."""
    return [
        {
            "group": line.label,
            "records": [line.low, line.high],
            **{
                f"{q:g}": (
                    [estimate_text(value, row), interval_text(value, row)] if row.is_known else None
                )
                for q, row in zip(SHARES, line.quantiles, strict=True)
            },
        }
        for line in lines
    ]


def _results(release: Release, lines: list[GroupLine], counted: Counted) -> list[Block]:
    """Return the chart, and the table of all groups."""
    value = release.value
    return [
        Figures([draw_groups(value, lines, counted)]),
        _table(value, lines, counted),
        Note(words.OF_QUANTILES, "aside", on=ON_PAGE),
        Note(words.OF_COUNTS, "aside", on=ON_PAGE),
    ]


def _table(value: HistogramsByGroup, lines: list[GroupLine], counted: Counted) -> Table:
    """Return a row for each group: its records, and its quantiles with their intervals."""
    shown = lines[:_ROWS]
    ends = np.array([(line.low, line.high) for line in shown], np.int64).T
    columns = [
        Column(harmless(value.name, 40), [line.name for line in shown]),
        Column(counted.head("{Records}"), np.array([round(line.count) for line in shown]), *ends),
    ]
    for at, name in ((1, "Median"), (0, "10 % below"), (2, "90 % below")):
        rows = [line.quantiles[at] for line in shown]
        columns += [
            Column(name, [estimate_text(value, row) for row in rows], digits=True),
            Column("95 % interval", [interval_text(value, row) for row in rows]),
        ]
    caption = Sentence("{column} by {name}", column=column_text(value), name=value.name)
    return Table(columns, (caption, caption, ""), total=len(lines))


def _reading(value: HistogramsByGroup) -> str:
    """Return Python that reads histograms by group."""
    return (
        "groups = release.value\ngroups.median().to_pandas(), groups.quantiles([0.1, 0.9])\n"
        f"groups.counts(), groups[{value.labels[0]!r}].mean()"
    )


def make_table(release: Release) -> pa.Table:
    """Return a row for each bin of each group: columns GROUP,start,stop,count,error,low,high.

    Edges are numbers, dates or times. Errors are standard errors in records.
    """
    value: HistogramsByGroup = release.value
    return value.join_groups(map(tabulate_bins, value.histograms))


def disclose(mechanism: GroupsMeasuring, value: HistogramsByGroup | None = None) -> Disclosed:
    """Return what is disclosed: groups and edges are public, unless groups were found."""
    group = find_group(mechanism.groups)
    public = [f"The number of bins: {mechanism.bins:,}."]
    if value is not None and value.histograms[0].has_edges:
        public = [f"The column and the edges of the bins: {bins_text(value)}."]
    named = harmless(group.name, 40)
    if group.discover is None:
        public.insert(0, f"The groups: {named} ({key_words.describe_key(group)}).")
        return Disclosed(public=public)
    most = many(group.discover.max_found, "group")
    public.insert(0, f"The column of the groups: {named} (at most {most}).")
    return Disclosed(threshold=key_words.say_threshold([named]), public=public)


def describe_value(value: HistogramsByGroup, most: int) -> Section:
    """Return what is said of histograms by themselves, with up to `most` rows."""
    lines, counted = make_lines(value), describe_counted_records(None, 1)
    blocks: list[Block] = [
        Fact("Groups", f"{len(lines):,}", note=harmless(value.name, 40)),
        Fact("Bins", bins_text(value)),
        _table(value, lines[:most], counted),
        Figures([draw_groups(value, lines, counted)]),
    ]
    return Section("value", "Released histograms by group", blocks)


KIND = Kind(
    name="groups",
    title=words.TITLE,
    value_type=HistogramsByGroup,
    mechanism_type=GroupsMeasuring,
    document=document,
    table=make_table,
    charts=draw_charts,
    comparing=COMPARING,
    data_type=GroupedCounts,
    accept=lambda mechanism, data: mechanism.accept(data),
    refuse_other=lambda mechanism, data: refuse_other_data(data, mechanism.groups, mechanism.bins),
    columns=lambda value: ", ".join(value.to_arrow().column_names),
    disclosed=disclose,
    commands={"groups": COMMAND},
    of_value=describe_value,
    planning=PLANNING,
    differing=compare_releases,
    auditing=AUDITING,
)
