"""Labelled releases: page, plot, summary and table say what is promised, and nothing commands."""

import csv
import io
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dphist import (
    ApproxDP,
    DiscoverLabels,
    LabelCounts,
    ParameterError,
    PureDP,
    Release,
    ThresholdHistogram,
    TopLabels,
    TopThreshold,
    plot,
)
from dphist.document import guarantee_words as words
from dphist.document import mechanism_facts
from dphist.document.blocks import PAGE, Document, Table
from dphist.document.kind import DataFacts
from dphist.document.totals import find_total, total_in_words
from dphist.labels import bounding
from dphist.labels import words as labels_words
from dphist.noise import rounded_gaussian, two_sided_geometric
from dphist.privacy import PrivacyUnit, Target
from dphist.release.maker import read_parameters
from dphist.render.text import count_columns
from dphist.report import make_release_document, report_html, summary_text, table_csv
from tests.support.report.html import Page
from tests.support.report.labels import HOSTILE
from tests.support.report.releases import number_protected


def release_labels(mechanism: Any, labels: Sequence[object], largest: int = 10**6) -> Release:
    counts = [max(largest // (i + 1), 1) for i in range(len(labels))]
    data = LabelCounts.from_counts(
        pa.array(labels), counts, max_labels=mechanism.max_labels, max_count=mechanism.max_count
    )
    return mechanism.release(data, random.Random(1).randbytes)


LAPLACE = ThresholdHistogram(epsilon="0.5", delta="1e-6", max_labels=2)
GAUSSIAN = ThresholdHistogram(
    epsilon="0.1", delta="1e-6", max_labels=10, max_count=3, noise="gaussian"
)
DISCOVER = DiscoverLabels(epsilon=1, delta="1e-6", max_labels=3)
ALL: dict[str, Callable[[], Release]] = {
    "laplace": lambda: release_labels(LAPLACE, list("abcdefg")),
    "gaussian": lambda: release_labels(GAUSSIAN, [f"label {i}" for i in range(700)]),
    "empty": lambda: release_labels(LAPLACE, []),
    "one": lambda: release_labels(LAPLACE, [20240229], 50),
    "known": lambda: release_labels(
        ThresholdHistogram(epsilon="0.1", max_labels=2, labels=[str(i) for i in range(30)]),
        ["1", "2"],
        3,
    ),
    "top threshold": lambda: release_labels(
        TopThreshold(k=5, epsilon=1, delta="1e-6", max_labels=2), list("abcdefg")
    ),
    "top": lambda: release_labels(TopLabels(k=5, epsilon=1, delta="1e-6"), list("abcdefg")),
    "too few": lambda: release_labels(TopLabels(k=50, epsilon=1, delta="1e-6"), list("abcdefg")),
    "nothing found": lambda: release_labels(TopLabels(k=50, epsilon=1, delta="1e-6"), []),
    "discovered": lambda: release_labels(DISCOVER, list("abcdefg")),
    "nothing discovered": lambda: release_labels(DISCOVER, []),
    "hostile discovered": lambda: release_labels(DISCOVER, HOSTILE),
    "hostile": lambda: release_labels(LAPLACE, HOSTILE),
    "hostile top": lambda: release_labels(TopLabels(k=12, epsilon=1, delta="1e-6"), HOSTILE),
    "hostile known": lambda: release_labels(
        ThresholdHistogram(epsilon=1, max_labels=2, labels=HOSTILE[:3]), HOSTILE
    ),
}


@pytest.fixture(scope="module", params=list(ALL.values()), ids=list(ALL))
def release(request: pytest.FixtureRequest) -> Release:
    make: Callable[[], Release] = request.param
    return make()


@pytest.fixture(scope="module")
def source(release: Release) -> str:
    return report_html(release)


@pytest.mark.quick(every=5)
def test_the_page_stands_alone(source: str) -> None:
    Page(source).check_alone(source)


@pytest.mark.quick(every=3)
def test_the_page_says_what_is_promised(release: Release, source: str) -> None:
    text = Page(source).text
    mechanism: Any = release.mechanism
    total = find_total(mechanism)
    for said in (
        total_in_words(total, PrivacyUnit("user"), number_protected(release), release.guarantee),
        words.guarantee_in_symbols(total.guarantee),
        str(release.guarantee),
        bounding.bounds_in_words(mechanism),
        labels_words.threshold_in_words(mechanism),
        mechanism.description,
        "Whoever counted the labels asserts that no user adds more",
        f"dphist {release.version}",
        re.findall(r"arXiv:[0-9.]+[0-9]", mechanism.reference)[0],
        'dphist.Release.load("release.json")',
        "dphist show release.json",
    ):
        assert said in text
    for about, how in labels_words.describe_limits(mechanism, DataFacts()):
        assert f"{about} {how}" in text
    for name in read_parameters(mechanism):
        assert f"{name} " in text
    for parameter in mechanism_facts.parameters(mechanism):
        assert parameter.meaning


def test_limits_fit_the_mechanism() -> None:
    def about(mechanism: Any) -> set[str]:
        data = DataFacts(unit=PrivacyUnit("user"))
        return {name for name, _ in labels_words.describe_limits(mechanism, data)}

    assert {"Labels that are missing.", "Counts near the threshold."} <= about(LAPLACE)
    assert "The bounds." not in about(LAPLACE)
    assert "Counts near the threshold." not in about(TopLabels(epsilon=1, delta="1e-6"))
    known = about(ThresholdHistogram(epsilon=1, max_labels=1, labels=["a"]))
    assert "Labels that are missing." not in known
    listed = report_html(ALL["known"]())
    assert "The parameter labels." in listed


def test_the_promise_is_stated_unless_users_were_bounded() -> None:
    release = ALL["laplace"]()
    promised = "Whoever counted the labels asserts"
    asked = {"unit": PrivacyUnit("user"), "null_users": "drop", "null_labels": "refuse"}
    bounded = replace(release, provenance=asked)
    for shown in (summary_text, lambda r: Page(report_html(r)).text):
        assert promised in " ".join(shown(release).split())
        said = " ".join(shown(bounded).split())
        assert promised not in said
        assert "Rows without a user are dropped." in said
        assert "Rows without a label are refused." in said


def test_the_total_comes_first_and_is_the_budget_where_there_is_one() -> None:
    release = ALL["gaussian"]()
    calibrated = GAUSSIAN.calibrated_to(Target(ApproxDP(7, "1e-5")))
    budget = replace(release, mechanism=calibrated)
    text = summary_text(budget)
    assert text.index("(7, 1e-5)-differential privacy in all") < text.index("zero-concentrated")
    assert "ε = 7, δ = 0.00001" in report_html(budget)
    assert find_total(GAUSSIAN) == Target(GAUSSIAN.to_approx_dp("2e-6"))
    assert find_total(LAPLACE) == Target(ApproxDP(1, "1e-6", unit="user"))
    known = ThresholdHistogram(epsilon="0.1", max_labels=2, labels=["a", "b", "c"])
    weaker = known.calibrated_to(Target(ApproxDP(1, "1e-6")))
    assert find_total(weaker) == Target(PureDP("0.2", unit="user"))


def test_every_released_label_is_in_the_table_of_the_page() -> None:
    release = ALL["laplace"]()
    text, width = Page(report_html(release)).text, LAPLACE.half_width()
    for rank, (label, count) in enumerate(
        zip(release.value.labels, release.value.counts.tolist(), strict=True), 1
    ):
        assert f"{rank} {label} {count:,} {max(count - width, 1):,} to {count + width:,}" in text
    gaussian = ALL["gaussian"]()
    text, last = Page(report_html(gaussian)).text, len(gaussian.value)
    assert f"Labels 101 to {last}" in text
    label, count = gaussian.value.labels[-1], int(gaussian.value.counts[-1])
    assert f" {last} {label} {count:,} " in text  # folded, and there
    assert "fewer than wanted were found" in Page(report_html(ALL["too few"]())).text


@pytest.mark.verify
def test_markup_and_control_characters_do_nothing() -> None:
    for name in ("hostile", "hostile top", "hostile known"):
        source, text = report_html(ALL[name]()), summary_text(ALL[name]())
        assert "<script" not in source
        for shown in (source, text):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x9b\u202e\ufffe]", shown)
        assert "<b>" not in source
        assert "\\x1b[2J" in source
        assert "x" * 200 not in source
    assert "<script>alert('x')</script>" in Page(report_html(ALL["hostile"]())).text


def test_figures_draw_the_threshold_and_the_intervals(release: Release, source: str) -> None:
    figures = re.findall(r"<svg.*?</svg>", source, flags=re.DOTALL)
    counted = release.value.counts is not None
    bars = [each for each in figures if 'aria-hidden="true"' in each]
    assert len(bars) == (min(len(release.value), 20) if counted else 0)
    assert sum("<path" in bar for bar in bars) in (0, len(bars))
    ranked = not counted and not isinstance(release.mechanism, DiscoverLabels)
    assert len(figures) - len(bars) == (len(release.value) > 20 if counted else ranked)
    drawn = isinstance(release.mechanism, ThresholdHistogram) and release.mechanism.delta
    for figure in figures[len(bars) :]:
        assert ("95 % interval</text>" in figure) == counted
        assert ("Threshold</text>" in figure) == bool(drawn and counted)
        assert ("Chance of the right order</text>" in figure) != counted
        assert re.findall(r"#[0-9a-fA-F]{6}\b", figure.replace("url(#", "url(")) == []
        assert "font-family" not in figure


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # the font has no letter for them
@pytest.mark.quick(every=8)
def test_the_plot_shows_counts_intervals_and_threshold(release: Release) -> None:
    if isinstance(release.mechanism, DiscoverLabels):
        with pytest.raises(ParameterError, match="labels alone"):
            plot(release)
        return
    if release.value.counts is None:
        (order,) = plot(release)
        chance = order.lines[0].get_ydata()
        assert chance[0] == 50
        assert (np.diff(chance) > 0).all()
        return
    axes = plot(release)
    by_label, by_rank = axes
    counts = release.value.counts
    np.testing.assert_array_equal(by_label.lines[0].get_xdata(), counts[:20])
    if len(counts):
        assert by_rank.lines[0].get_ydata()[0] == counts[0]
        assert by_rank.lines[0].get_ydata()[-1] == counts[-1]
    if isinstance(release.mechanism, ThresholdHistogram) and release.mechanism.delta:
        threshold = float(release.mechanism.threshold)
        assert list(by_label.lines[1].get_xdata()) == [threshold] * 2
        assert list(by_rank.lines[1].get_ydata()) == [threshold] * 2
        low, high = by_label.get_xlim()
        assert low < threshold < high
    else:
        assert len(by_label.lines) == 1
        assert len(by_rank.lines) == 1 + (by_rank.get_ylim()[0] < 0)  # a line at 0
    axes[0].figure.draw_without_rendering()


def test_the_summary_fits_a_terminal(release: Release) -> None:
    text = summary_text(release)
    assert all(count_columns(line) <= 78 for line in text.splitlines())
    assert text.endswith("\n")
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", ["hostile", "hostile top", "too few", "one", "empty"])
def test_the_table_holds_exactly_the_labels(name: str) -> None:
    release = ALL[name]()
    rows = list(csv.reader(io.StringIO(table_csv(release), newline="")))
    counted = release.value.counts is not None
    assert rows[0][:4] == (["label", "count", "low", "high"] if counted else ["label"])
    read = [row[0] if row else None for row in rows[1:]]
    assert read == [None if label is None else str(label) for label in release.value.labels]
    if counted:
        assert [int(row[1]) for row in rows[1:]] == release.value.counts.tolist()
        bounds = release.mechanism.intervals(release)
        assert [int(row[2]) for row in rows[1:]] == bounds.lower.tolist()
        assert [int(row[3]) for row in rows[1:]] == bounds.upper.tolist()


@pytest.mark.parametrize("rate", ["0.01", "0.3", "1", "5"])
def test_the_interval_is_the_least_that_holds_95_percent_laplace(rate: str) -> None:
    width = ThresholdHistogram(epsilon=rate, delta="1e-6", max_labels=1).half_width()
    a = math.exp(-float(rate))

    def missed(q: float) -> float:
        return 2 * a ** (q + 1) / (1 + a)

    assert missed(width) <= 0.05
    assert width == 0 or missed(width - 1) > 0.05


@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE])
def test_the_noise_stays_within_the_interval(mechanism: ThresholdHistogram) -> None:
    draw = random.Random(3).randbytes
    size = 40_000
    if mechanism.noise == "gaussian":
        noise = rounded_gaussian(mechanism.noise_scale, size, draw)
    else:
        noise = two_sided_geometric(1 / mechanism.noise_scale, size, draw)
    width = mechanism.half_width()
    slack = 4 * math.sqrt(0.05 * 0.95 / size)
    assert np.mean(np.abs(noise) > width) <= 0.05 + slack
    assert np.mean(np.abs(noise) > 0.7 * width) > 0.05 + slack  # power: a narrower one fails


@pytest.mark.parametrize(
    "mechanism",
    [
        TopLabels(k=3, candidates=5, epsilon="0.5", delta="1e-4"),
        TopThreshold(k=3, epsilon="0.5", delta="1e-4", max_labels=2),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.long(every=2)
def test_chances_above_the_next_count_are_those_of_the_release(mechanism: object) -> None:
    """One label so far above the next count, many times."""
    size = 1500
    draw = random.Random(5).randbytes
    likely = labels_words.appearances(mechanism)  # type: ignore[arg-type]
    for chance, count in likely.items():
        if isinstance(mechanism, TopLabels):
            found = [len(mechanism.choose([int(count)], draw)) for _ in range(size)]
        else:
            found = [len(mechanism.measure([int(count)], draw)) for _ in range(size)]
        slack = 4 * math.sqrt(chance * (1 - chance) / size)
        assert chance - slack <= np.mean(found) <= chance + slack + 0.1


def test_the_intervals_of_listed_labels_are_around_their_counts() -> None:
    release = ALL["known"]()
    assert release.value.counts.min() < 0
    width = release.mechanism.half_width()
    shown = make_release_document(release)
    assert isinstance(shown, Document)
    (table,) = (block for block in shown.blocks(PAGE) if isinstance(block, Table))
    counts = table.columns[1]
    np.testing.assert_array_equal(counts.low, release.value.counts - width)
    np.testing.assert_array_equal(counts.high, release.value.counts + width)
