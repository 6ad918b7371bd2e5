"""Releases of running counts: page, summary and table say what was released and promised."""

import csv
import io
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from dphist import Release
from dphist.document import guarantee_words as words
from dphist.document.blocks import PAGE, Table
from dphist.document.kind import DataFacts
from dphist.document.totals import find_total, total_in_words
from dphist.privacy import Target
from dphist.release.maker import read_parameters
from dphist.release.running_counts import RunningCounts
from dphist.render.text import count_columns
from dphist.report import make_json, make_release_document, report_html, summary_text, table_csv
from dphist.streams import ContinualMechanism
from dphist.streams import words as streams_words
from dphist.streams.kind import KIND
from tests.support.report.html import Page
from tests.support.report.releases import number_protected
from tests.support.streams.releases import ALL, BINARY, KNOWN, UNKNOWN, USERS


@pytest.fixture(scope="module", params=list(ALL.values()), ids=list(ALL))
def release(request: pytest.FixtureRequest) -> Release:
    make: Callable[[], Release] = request.param
    return make()


@pytest.fixture(scope="module")
def source(release: Release) -> str:
    return report_html(release)


@pytest.mark.quick(every=9)
def test_the_page_stands_alone(source: str) -> None:
    Page(source).check_alone(source)
    assert len(source) < 300_000


@pytest.mark.verify
def test_colours_follow_the_readers_scheme(source: str) -> None:
    drawn = re.sub(r"<style>.*?</style>", "", source, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{6}\b", drawn.replace("url(#", "url(")) == []
    for name in set(re.findall(r"var\((--line-\d)\)", drawn)):
        assert source.count(f"{name}:") == 3  # light, dark, print
    assert "font-family" not in "".join(re.findall(r"<svg.*?</svg>", drawn, flags=re.DOTALL))


@pytest.mark.quick(every=3)
def test_the_page_says_what_is_promised(release: Release, source: str) -> None:
    text = Page(source).text
    mechanism: Any = release.mechanism
    total = find_total(mechanism)
    for said in (
        total_in_words(total, mechanism.unit, number_protected(release), release.guarantee),
        words.guarantee_in_symbols(total.guarantee),
        streams_words.coverage_in_words(mechanism),
        str(release.guarantee),
        streams_words.describe_neighbors(mechanism, mechanism.unit),
        streams_words.threshold_in_words(mechanism),
        streams_words.intervals_in_words(mechanism),
        mechanism.description,
        f"dphist {release.version}",
        "arXiv:2309.09170",
        "dphist show release.json",
        f"{mechanism.horizon:,}",
        f"{int(release.value.times[-1]):,}",
        f"standard error at most {streams_words.error_text(mechanism)}",
    ):
        assert said in text
    for about, how in streams_words.describe_limits(mechanism, mechanism.unit):
        assert f"{about} {how}" in text
    for name in read_parameters(mechanism):
        assert re.search(rf"\b{name} .{{1,200}}?\.", text)
    assert text.index(words.guarantee_in_short(total.guarantee)) < text.index(
        "Smallest count shown"
    )
    assert (
        "A label without a line need not have a count of zero." in text
        or mechanism.threshold is None
    )


def test_the_limits_fit_the_mechanism() -> None:
    def about(mechanism: ContinualMechanism) -> set[str]:
        return {name for name, _ in streams_words.describe_limits(mechanism, mechanism.unit)}

    assert "Labels that are missing." in about(UNKNOWN)
    assert "Labels that are missing." not in about(KNOWN)
    assert "The parameter labels." in Page(report_html(ALL["known"]())).text
    assert "What users had beyond the bound." in about(USERS)
    assert "What users had beyond the bound." not in about(UNKNOWN)


def test_the_total_comes_first_and_is_the_budget_where_there_is_one() -> None:
    text = summary_text(ALL["users"]())
    unit = "all events of one user, of which at most 3 count"
    assert f"(6, 1e-6)-differential privacy in all, for {unit}" in " ".join(text.split())
    assert text.index("(6, 1e-6)") < text.index("zero-concentrated")
    assert f"Whether {unit}, are in the data or not," in " ".join(text.split())
    assert "Whether one event is in the data or not," in summary_text(ALL["unknown"]())
    assert find_total(UNKNOWN) == Target(UNKNOWN.to_approx_dp("2e-6"))
    assert find_total(KNOWN) == Target(KNOWN.to_approx_dp("1e-6"))
    assert (
        make_release_document(ALL["users"]()).fact("cost").text
        == "(6, 1e-6)-differential privacy in all"
    )


@pytest.mark.verify
def test_the_last_reading_is_the_table_of_the_page() -> None:
    release = ALL["unknown"]()
    text, width = Page(report_html(release)).text, UNKNOWN.half_width()
    table = release.value.latest
    pairs = list(zip(table.labels, table.counts.tolist(), strict=True))
    assert len(pairs) > 50
    for rank, (label, count) in enumerate(pairs[:100], 1):
        assert f"{rank} {label} {count:,} {max(count - width, 1):,} to {count + width:,}" in text
    if len(pairs) > 100:
        assert f"release file have {len(pairs) - 100} more rows" in text
    for name in ("nothing", "none left"):
        assert "the last reading is empty" in Page(report_html(ALL[name]())).text
        assert "No label was released: the last reading is empty." in summary_text(ALL[name]())


def test_intervals_of_listed_labels_may_be_below_zero() -> None:
    value = RunningCounts([10], [{"tea": 3, "milk": -4, "<b>rum": 0}])
    width = KNOWN.half_width()
    assert intervals_of(Release(value, KNOWN.guarantee, KNOWN)) == [
        (count - width, count + width) for count in (3, 0, -4)
    ]
    value = RunningCounts([10], [{"tea": 3}])
    ((low, _),) = intervals_of(Release(value, UNKNOWN.guarantee, UNKNOWN))
    assert low == 1


def intervals_of(release: Release) -> list[tuple[int, int]]:
    """Return the intervals of the table."""
    document = KIND.document(release.mechanism, DataFacts.of(release), release)
    (table,) = (block for block in document.blocks(PAGE) if isinstance(block, Table))
    low, high = table.columns[1].low, table.columns[1].high
    assert low is not None
    assert high is not None
    return list(zip(low.tolist(), high.tolist(), strict=True))


def test_the_chance_of_a_likely_count_is_95_percent() -> None:
    draw, size = random.Random(8), 20_000
    for mechanism in (UNKNOWN, BINARY, USERS):
        count, error = mechanism.likely_count(0.95), mechanism.standard_error
        threshold, width = mechanism.threshold, mechanism.half_width()
        noisy = [count + draw.gauss(0, error) for _ in range(size)]
        share = sum(each > threshold for each in noisy) / size
        assert 0.945 < share < 0.97
        within = sum(abs(round(each - count)) <= width for each in noisy) / size
        assert 0.945 < within < 0.96


def test_markup_and_control_characters_do_nothing() -> None:
    release = ALL["hostile"]()
    source, text = report_html(release), summary_text(release)
    assert "<script" not in source
    for shown in (source, text):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x9b\u202e\ufffe]", shown)
    assert "<b>" not in source
    assert "\\x1b[2J" in source
    assert "x" * 200 not in source
    assert "<script>alert('x')</script>" in Page(source).text
    known = report_html(ALL["known"]())
    assert "<b>" not in known
    assert "<b>rum" in Page(known).text


def test_the_summary_fits_a_terminal(release: Release) -> None:
    text = summary_text(release)
    assert all(count_columns(line) <= 78 for line in text.splitlines())
    assert all(line == line.rstrip() for line in text.splitlines())
    assert text.endswith("\n")


def test_the_table_holds_exactly_all_readings(release: Release) -> None:
    rows = list(csv.reader(io.StringIO(table_csv(release), newline="")))
    assert rows[0] == ["time", "label", "count", "low", "high"]
    wanted = zip(*release.value.to_arrow().to_pydict().values(), strict=True)
    assert [(int(t), label, int(c)) for t, label, c, _, _ in rows[1:]] == list(wanted)
    last = [row for row in rows[1:] if int(row[0]) == release.value.times[-1]]
    bounds = release.mechanism.intervals(release)
    ends = zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True)
    assert [(int(low), int(high)) for *_, low, high in last] == list(ends)


def test_the_table_quotes_what_is_empty_or_would_be_lost() -> None:
    value = RunningCounts([3], [{"": 5, " a": 4, 'q"': 3, "l\n": 2, "b,c": 1, "d": 0}])
    text = table_csv(Release(value, UNKNOWN.guarantee, UNKNOWN))
    assert text == (
        'time,label,count,low,high\n3,"",5,1,16\n3," a",4,1,15\n3,"q""",3,1,14\n'
        '3,"l\n",2,1,13\n3,"b,c",1,1,12\n3,d,0,1,11\n'
    )


def test_programs_are_told_guarantee_and_size() -> None:
    release = ALL["users"]()
    unit = "all events of one user, of which at most 3 count"
    assert make_json(release) == {
        "guarantee": {"name": "ApproxDP", "epsilon": "6", "delta": "0.000001", "unit": unit},
        "exchanged": {
            "name": "ApproxZCDP",
            "rho": "2.52",
            "delta": "0.0000313059521427",
            "unit": "one user, exchanged for another",
        },
        "time": 9000,
        "readings": 12,
        "labels": 3,
        "counts_of": "events, after each user was bounded to at most 3 events with 1 label each",
        "zcdp": str(release.guarantee),
        "warnings": [],
    }


@pytest.mark.quick(every=9)
def test_a_loaded_release_is_shown_the_same(release: Release) -> None:
    loaded = Release.from_json(release.to_json())
    assert summary_text(loaded) == summary_text(release)
    assert report_html(loaded) == report_html(release)
