"""Universal releases: page, plot, summary and table say what was released and how far off it is."""

import csv
import datetime
import io
import random
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist import AdaptiveTree, Axis, HierarchicalTree, LeafCounts, Release, bin_counts
from dphist.document import guarantee_words as words
from dphist.document import mechanism_facts, unit_words
from dphist.document.blocks import CARD, PAGE, TERMINAL, Between, Document, Fact, PlusMinus, Table
from dphist.document.kind import DataFacts
from dphist.document.totals import find_total, total_in_words
from dphist.ranges import words as ranges_words
from dphist.ranges.kind import KIND
from dphist.ranges.overview import (
    divide,
    edge_texts,
    error_outside,
    list_outside,
    list_quantiles,
    make_parts,
)
from dphist.release.range_histogram import RangeHistogram
from dphist.report import report_html, summary_text, table_csv
from tests.support.report.html import Page
from tests.support.report.ranges_releases import (
    AGES,
    ALL,
    ENDLESS,
    HOSTILE,
    HOURS,
    bell,
    binned,
    release_bins,
)
from tests.support.report.releases import number_protected


@pytest.fixture(scope="module", params=list(ALL.values()), ids=list(ALL))
def release(request: pytest.FixtureRequest) -> Release:
    make: Callable[[], Release] = request.param
    return make()


@pytest.fixture(scope="module")
def source(release: Release) -> str:
    return report_html(release)


def told(release: Release) -> Document:
    return KIND.document(release.mechanism, DataFacts.of(release), release)


def tables_of(release: Release) -> list[Table]:
    return [block for block in told(release).blocks(PAGE) if isinstance(block, Table)]


@pytest.mark.quick(every=8)
def test_the_page_stands_alone(source: str) -> None:
    Page(source).check_alone(source)
    assert (
        re.findall(r"#[0-9a-fA-F]{6}\b", re.sub(r"<style>.*?</style>", "", source, flags=re.S))
        == []
    )
    assert len(source) < 300_000


@pytest.mark.quick(every=8)
def test_the_page_says_what_is_promised(release: Release, source: str) -> None:
    text = Page(source).text
    mechanism = release.mechanism
    unit = words.Contribution(mechanism.sensitivity)
    for said in (
        total_in_words(find_total(mechanism), unit, number_protected(release), release.guarantee),
        words.guarantee_in_symbols(find_total(mechanism).guarantee),
        ranges_words.neighbors_in_words(mechanism.sensitivity, DataFacts()),
        ranges_words.errors_in_words(mechanism),
        str(release.guarantee),
        mechanism.description,
        f"dphist {release.version}",
        mechanism.reference,
        'dphist.Release.load("release.json")',
        "dphist show release.json",
    ):
        assert said in text
    own = ranges_words.limits_in_words(release.value.has_edges)
    for about, how in (dict(words.limits_in_words(unit)) | dict(own)).items():
        assert f"{about} {how}" in text
    for parameter in mechanism_facts.parameters(mechanism):
        assert f"{parameter.name} {parameter.value} {parameter.meaning}" in text
        assert parameter.meaning


@pytest.mark.quick(every=4)
def test_the_page_tells_counts_with_their_errors(release: Release, source: str) -> None:
    text, value = Page(source).text, release.value
    for where, count in list_outside(release):
        low, high = PlusMinus.of(error_outside(release)).around(count)
        assert f"{where[0].upper()}{where[1:]} {count:,} {Between(low, high)}" in text
    for table in tables_of(release):
        for place in range(table.rows):
            assert " ".join(part for each in table.columns for part in each.shown(place)) in text
    if value.counts.ndim == 1:
        for found in list_quantiles(value):
            assert f"{found.meaning} {found.place} {found.low} to {found.high}" in text
    assert len(re.findall("<svg", source)) == {1: 2, 2: 1}.get(value.counts.ndim, 0)


def test_the_parts_are_the_histogram_s_answers() -> None:
    release = ALL["hours"]()
    value = release.value
    places = divide(1440, 4)
    parts = make_parts(value, 0, places)
    assert parts.edges == [
        "2024-01-01 00:00", "2024-01-16 00:00", "2024-01-31 00:00", "2024-02-15 00:00",
        "2024-03-01 00:00",
    ]  # fmt: skip
    assert parts.counts.tolist() == [value.count_bins(i, i + 360) for i in range(0, 1440, 360)]
    low, high = value.interval_bins(360, 720)
    assert parts.low[1] <= low < parts.low[1] + 1
    assert parts.high[1] - 1 < high <= parts.high[1]
    assert [count for _, count in list_outside(release)] == list(value.outside.values())
    assert list_outside(ALL["ten"]()) == []
    # Nothing is below minus infinity.
    assert [where for where, _ in list_outside(ALL["endless"]())] == [
        "infinite", "without a value of amount",
    ]  # fmt: skip


@pytest.mark.parametrize("mechanism", [AdaptiveTree, HierarchicalTree, LeafCounts])
@pytest.mark.quick("[LeafCounts]")
def test_intervals_of_the_table_hold_the_true_numbers(mechanism: type) -> None:
    """Each in about 95 % of releases; noise 1.3 times as large would leave fewer than 88 %."""
    counts = bell(200, 20_000)
    true = np.add.reduceat(counts, divide(200, 8)[:-1])
    made, draw, held = mechanism(epsilon="0.1", bins=200), random.Random(9).randbytes, []
    for _ in range(60):
        column = tables_of(made.release(counts, draw))[0].columns[1]
        held.append((np.asarray(column.low) <= true) & (true <= np.asarray(column.high)))
    assert np.mean(held) > 0.92


@pytest.mark.quick(every=3)
def test_every_number_has_its_error(release: Release) -> None:
    document = told(release)
    assert isinstance(document.fact("total").error, PlusMinus)
    for surface in (TERMINAL, CARD, PAGE):
        for block in document.blocks(surface):
            if isinstance(block, Table):
                of_numbers = [column for column in block.columns if not column.is_text]
                assert all(column.low is not None for column in of_numbers)
            elif isinstance(block, Fact) and block.name in ("Records", "In no bin"):
                assert isinstance(block.error, PlusMinus)


def test_a_dry_run_promises_what_the_release_does(release: Release) -> None:
    made = told(release)
    planned = KIND.document(release.mechanism, DataFacts.of(release), None)
    for key in ("guarantee", "neighbors", "cost"):
        assert planned.fact(key).text == made.fact(key).text
        assert planned.fact(key).value == made.fact(key).value
    assert planned.fact("bins").value == made.fact("bins").value == list(release.value.counts.shape)
    with pytest.raises(KeyError):
        planned.fact("total")


def test_noise_on_what_lies_outside_has_the_stated_error() -> None:
    mechanism = LeafCounts(epsilon="0.2", bins=3, sensitivity=2)
    data = binned([0, 0, 0], AGES, outside=(10**6, 10**6, 10**6))
    draw = random.Random(4).randbytes
    found = [mechanism.release(data, draw) for _ in range(400)]
    errors = [count - 10**6 for release in found for count in release.value.outside.values()]
    assert error_outside(found[0]) == pytest.approx(np.std(errors), rel=0.12)


@pytest.mark.parametrize("mechanism", [AdaptiveTree, HierarchicalTree, LeafCounts])
@pytest.mark.quick("[LeafCounts]")
def test_intervals_of_quantiles_hold_them(mechanism: type) -> None:
    """At least as often as they say; and they are intervals, not the whole axis."""
    counts = bell(200, 20_000)
    sums = np.cumsum(counts) / counts.sum()
    made = mechanism(epsilon="0.1", bins=200)
    draw, held, widths = random.Random(6).randbytes, [], []
    for _ in range(60):
        for found in list_quantiles(made.release(counts, draw).value):
            low, high, place = int(found.low), int(found.high), float(found.place)
            truth = int(np.searchsorted(sums, found.share))
            held.append(low <= truth < high)
            widths.append(high - low)
            assert low <= place <= high
    assert np.mean(held) > 0.95
    assert np.mean(widths) < 40


def test_no_records_have_no_quantiles() -> None:
    release = ALL["nothing"]()
    assert list_quantiles(release.value) == []
    assert "There are no records by the estimates" in Page(report_html(release)).text
    assert "There are no records by the estimates" in summary_text(release)


@pytest.mark.verify
def test_the_table_holds_every_bin(release: Release) -> None:
    value = release.value
    rows = list(csv.reader(io.StringIO(table_csv(release), newline="")))
    frame = value.to_pandas()
    assert rows[0] == [*frame.columns, "low", "high"]
    assert len(rows) == len(frame) + 1
    for place, column in enumerate(frame.columns):
        written, held = [row[place] for row in rows[1:]], frame[column].to_numpy()
        if held.dtype.kind == "M":
            np.testing.assert_array_equal(np.array(written, "M8[us]"), held)
        else:
            exact, near = (1e-5 if column == "error" else 0), (5e-4 if column == "count" else 0)
            numbers = np.array(written, float), held.astype(float)
            np.testing.assert_allclose(*numbers, rtol=exact, atol=near)


def test_edges_are_written_so_that_they_can_be_read() -> None:
    moments = np.array(["2024-01-01T00:00:00.000001", "2024-01-02"], "M8[us]")
    for edges in (HOURS.edges, AGES.edges, ENDLESS.edges, moments, np.array([0.1, 1 / 3])):
        texts = edge_texts(edges)
        np.testing.assert_array_equal(np.array(texts, edges.dtype), edges)


@pytest.mark.quick(every=3)
def test_the_summary_fits_a_terminal(release: Release) -> None:
    text = summary_text(release)
    assert all(len(line) <= 78 for line in text.splitlines())
    assert all(line == line.rstrip() for line in text.splitlines())
    assert str(release.guarantee) in " ".join(text.split())


def test_markup_and_control_characters_do_nothing() -> None:
    for name in ("hostile", "hostile map"):
        source, text = report_html(ALL[name]()), summary_text(ALL[name]())
        assert "<script" not in source
        for shown in (source, text):
            assert "\x1b" not in shown
            assert "\\x1b[2J" in shown


def test_names_of_columns_are_quoted_in_the_table() -> None:
    header = table_csv(ALL["hostile map"]()).split("\n", 1)[0]
    assert next(csv.reader([header]))[:2] == [f"start_{HOSTILE}", f"stop_{HOSTILE}"]


def test_equal_parts() -> None:
    for bins in (1, 3, 4, 10, 4096):
        places = divide(bins, 4)
        assert places[0] == 0
        assert places[-1] == bins
        assert (np.diff(places) > 0).all()


def test_a_histogram_of_one_s_own_has_a_table_and_a_card_but_no_errors() -> None:
    by_hand = RangeHistogram(np.array([5, 6]))
    release = replace(ALL["ten"](), value=by_hand)
    assert table_csv(release) == "start,stop,count\n0,1,5\n1,2,6\n"
    assert "<svg" in by_hand._repr_html_()


def test_the_pages_of_real_data_name_the_edges_as_given() -> None:
    rows = pa.table({"day": [datetime.date(2024, 1, day) for day in (1, 5, 9)]})
    data = bin_counts(rows, column="day", start="2024-01-01", stop="2024-01-15", width="1w")
    source = report_html(release_bins(AdaptiveTree, data, epsilon=50))
    assert "&lt;span" not in source
    assert '<span class="whole">2024-01-15</span>' in source  # no line ends within a date
    text = Page(source).text
    assert "day from 2024-01-01 to 2024-01-15" in text
    assert "2024-01-01 to 2024-01-08 2 1 to 3" in text


def test_who_was_bounded_is_who_is_protected() -> None:
    release = replace(ALL["ages"](), provenance={"unit": "one user"})
    unit = "one user, who counts with up to 5 records"
    page = Page(report_html(release)).text
    for shown in (page, " ".join(summary_text(release).split())):
        assert f"Whether {unit}, is in the data" in shown
        assert "one contribution" not in shown
    assert unit_words.neighbors_in_words(5, dh.PrivacyUnit("user")) in page


def test_thousands_of_bins_of_an_axis_are_numbered_once() -> None:
    axis = Axis.regular(0, 8784, 1, "hour")
    histogram = RangeHistogram(np.zeros(8784, np.int64), (axis,))
    assert ranges_words.axes_in_words(histogram) == "hour from 0 to 8784"
