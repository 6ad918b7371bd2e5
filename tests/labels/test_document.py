"""The document of released labels: facts, and the error of each number."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.document.blocks import CARD, PAGE, TERMINAL, Column, Document, Figures
from dphist.document.kind import DataFacts
from dphist.labels.bounding import find_mechanism
from dphist.labels.kind import KIND
from dphist.labels.mechanism import least_shown
from dphist.labels.words import threshold_in_words
from dphist.render.html import page
from dphist.render.text import text
from tests.support.labels.told import DISCOVER, GAUSSIAN, LAPLACE, LISTED, MADE, NEAR, TOP, WARDS
from tests.support.report.told import document_of, table_of

each = pytest.mark.parametrize("name", MADE)


def told(name: str) -> Document:
    return document_of(MADE[name]())


@pytest.mark.quick(every=3)
@each
def test_labels_and_counts_are_those_of_the_release(name: str) -> None:
    value, document = MADE[name]().value, told(name)
    labels, *counts = table_of(document).columns
    if counts and counts[-1].name == "Before bounding, at most":
        assert (counts.pop().cells >= value.counts).all()
    assert list(labels.cells) == [label for label in value.texts if label is not None]
    assert document.fact("labels").value == len(labels.cells)
    assert len(counts) == (value.counts is not None)
    for column in counts:
        assert np.array_equal(column.cells, value.counts)


@pytest.mark.quick(every=3)
@each
def test_every_count_has_its_interval_on_every_surface(name: str) -> None:
    release, document = MADE[name](), told(name)
    if release.value.counts is None:
        assert "±" not in document.result
        return
    for surface in (PAGE, TERMINAL, CARD):
        column: Column = table_of(document, surface).columns[1]
        bounds = release.mechanism.intervals(release)
        assert np.array_equal(column.low, bounds.lower)
        assert np.array_equal(column.high, bounds.upper)
    if len(release.value):
        assert f" ± {find_mechanism(release).half_width()}" in document.result


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, NEAR])
def test_the_smallest_count_shown_is_the_first_that_rounds_from_above_the_threshold(
    mechanism: dh.ThresholdHistogram,
) -> None:
    """Gaussian noise is a real number, and its sum is compared before it is rounded."""
    threshold, least = mechanism.threshold, least_shown(mechanism)
    assert threshold is not None
    noisy = threshold + 1 if mechanism.noise == "laplace" else np.nextafter(float(threshold), 1e9)
    assert round(float(noisy)) == least
    assert f"the smallest count shown is {least}" in threshold_in_words(mechanism)


def test_a_label_that_quotes_is_shown_as_it_is() -> None:
    """Neither is its apostrophe curled, nor does its direction turn the sentence around."""
    release = MADE["odd labels"]()
    shown = page(document_of(release))
    first = "&lt;b&gt;&#39;x&#39;&lt;/b&gt; &amp; &#34;"
    assert f"<bdi>{first}</bdi> has 1,000,001" in shown
    assert f'<th scope="row"><bdi>{first}</bdi></th>' in shown
    assert "\u2068" not in shown
    assert "\\u202eleft" in shown


def test_the_owner_s_words_stand_in_every_sentence() -> None:
    for name in ("patients, in words", "top of patients, in words"):
        said = text(told(name)).replace("owner's word for one record", "")
        said = re.sub(r"\w+\([^()]*\)", "", said)  # Python
        assert not re.findall(r"\b(?:labels?|records?|users?)\b", said, re.IGNORECASE)
        assert {"drugs", "patient"} <= set(re.findall(r"\w+", said.lower()))
    assert told("patients, in words").fact("counts_of").value.startswith("records, after each")


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, LISTED, TOP, DISCOVER])
def test_a_dry_run_promises_what_the_release_does(mechanism: Any) -> None:
    data = dh.LabelCounts.from_counts(WARDS, [900] * 30, max_labels=2, max_count=1)
    release = mechanism.release(data)
    made = KIND.document(mechanism, DataFacts.of(release), release)
    planned = KIND.document(mechanism, DataFacts(), None)
    for key in ("guarantee", "neighbors", "cost", "zcdp", "counts_of"):
        assert planned.fact(key).text == made.fact(key).text
        assert planned.fact(key).value == made.fact(key).value
    with pytest.raises(KeyError):
        planned.fact("labels")


def test_charts_stand_where_the_table_does_not_show_it_all() -> None:
    charts = {
        name: [chart.name for block in told(name).blocks(PAGE) if isinstance(block, Figures)
               for chart in block.charts]
        for name in ("laplace", "gaussian", "top", "discovered")
    }  # fmt: skip
    assert charts == {"laplace": [], "gaussian": ["all"], "top": ["order"], "discovered": []}


def test_only_whole_numbers_are_marked_along_counts() -> None:
    largest, every = dh.plot(MADE["nothing"]())
    for marks in (largest.get_xticks(), every.get_yticks()):
        assert np.array_equal(marks, np.rint(marks))


def test_rows_of_a_page_scroll_and_those_beyond_20_000_are_left_out() -> None:
    labels = list(range(20_050))
    mechanism = dh.ThresholdHistogram(epsilon=1, max_labels=1, labels=labels)
    release = mechanism.release(pa.table({"label": labels, "count": labels}))
    shown = page(document_of(release))
    assert "<caption>Labels 101 to 20,000</caption>" in shown
    assert "release file have 50 more rows" in shown
    assert shown.count('<svg viewBox="0 0 100 10"') == 20  # bars
