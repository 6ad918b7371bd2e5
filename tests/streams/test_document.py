"""The document of running counts: facts, and the error of each number."""

import re
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.document.blocks import CARD, PAGE, TERMINAL, Document, Figures
from dphist.document.kind import DataFacts
from dphist.render.html import page
from dphist.render.text import text
from dphist.streams import ContinualMechanism
from dphist.streams.counters.noise_table import are_above, round_units
from dphist.streams.kind import KIND
from dphist.streams.words import threshold_in_words
from tests.support.report.told import document_of, table_of
from tests.support.streams.told import BINARY, ENDLESS, LISTED, MADE, PURE, UNKNOWN, users

OURS = [name for name in MADE if name != "of somebody else"]
each = pytest.mark.parametrize("name", OURS)


def told(name: str) -> Document:
    return document_of(MADE[name]())


@each
@pytest.mark.quick(every=5)
def test_numbers_are_those_of_the_release(name: str) -> None:
    value, document = MADE[name]().value, told(name)
    facts = {key: document.fact(key).value for key in ("time", "readings", "labels")}
    assert facts == {
        "time": value.times[-1],
        "readings": len(value),
        "labels": len(value.latest),
    }
    labels, counts = table_of(document).columns
    assert list(labels.cells) == value.latest.texts
    assert np.array_equal(counts.cells, value.latest.counts)


@each
@pytest.mark.quick(every=5)
def test_every_count_has_its_interval_on_every_surface(name: str) -> None:
    release, document = MADE[name](), told(name)
    bounds: Any = release.mechanism.intervals(release)
    for surface in (PAGE, TERMINAL, CARD):
        column = table_of(document, surface).columns[1]
        assert np.array_equal(column.low, bounds.lower)
        assert np.array_equal(column.high, bounds.upper)
    assert ("±" in document.result) == (len(release.value.latest) > 0)
    (figures,) = (block for block in document.blocks(PAGE) if isinstance(block, Figures))
    for series in figures.charts[0].series:
        there = np.isfinite(series.y)
        assert np.all(series.low[there] <= series.y[there])
        assert np.all(series.y[there] <= series.high[there])


@pytest.mark.parametrize("mechanism", [UNKNOWN, BINARY, users(), ENDLESS])
@pytest.mark.parametrize("time", [None, 1, 3000])
def test_the_smallest_count_shown_is_the_first_that_a_reading_has(
    mechanism: ContinualMechanism, time: int | None
) -> None:
    units = mechanism.threshold_units_at(mechanism.horizon if time is None else time)
    bits, least = mechanism.counter.unit_bits, mechanism.least_shown(time)
    assert units is not None
    assert least is not None
    noisy = np.arange(units - 2, units + 3)
    above = are_above(np.zeros(5, np.int64), noisy, units, bits)
    assert above.tolist() == [False] * 3 + [True] * 2
    assert round_units(noisy[above], bits).min() == least
    last = mechanism.find_stated_until(time or 10**6)
    said = threshold_in_words(mechanism, last)
    assert f"the smallest count shown is {mechanism.least_shown(last):,}." in said


def test_listed_labels_have_no_smallest_count() -> None:
    assert LISTED.least_shown() is PURE.least_shown(3) is None


def test_a_label_that_quotes_is_shown_as_it_is() -> None:
    """Neither is its apostrophe curled, nor does its direction turn the sentence around."""
    shown = page(told("odd labels"))
    first = "&lt;b&gt;&#39;x&#39;&lt;/b&gt; &amp; &#34;"
    assert f"<bdi>{first}</bdi> has occurred 9,000" in shown
    assert f'<th scope="row"><bdi>{first}</bdi></th>' in shown
    assert "\\u202eleft" in shown


def test_the_owner_s_words_stand_in_every_sentence() -> None:
    for name in ("events, in words", "patients, in words"):
        said = re.sub(r"word for one \w+", "", text(told(name)))
        said = re.sub(r"\w+\([^()]*\)", "", said)  # Python
        assert not re.findall(r"\b(?:labels?|records?|events?|users?)\b", said, re.IGNORECASE)
        assert {"wards", "visits"} <= set(re.findall(r"\w+", said.lower()))
    assert told("patients, in words").fact("counts_of").value.startswith("events, after each pat")


@pytest.mark.parametrize("mechanism", [UNKNOWN, users(), ENDLESS, LISTED, PURE])
def test_a_dry_run_promises_what_the_release_does(mechanism: ContinualMechanism) -> None:
    value = dh.RunningCounts([9], [{"tea": 4}])
    release = dh.Release(value, mechanism.guarantee, mechanism)
    made = KIND.document(mechanism, DataFacts.of(release), release)
    planned = KIND.document(mechanism, DataFacts(), None)
    for key in ("guarantee", "neighbors", "cost", "zcdp", "counts_of"):
        assert planned.fact(key).text == made.fact(key).text
        assert planned.fact(key).value == made.fact(key).value
    with pytest.raises(KeyError):
        planned.fact("time")


def test_without_a_horizon_nobody_is_warned_of_the_most_events_there_may_be() -> None:
    def warnings(mechanism: ContinualMechanism, *guesses: int) -> Any:
        data = DataFacts(guesses=guesses)
        return KIND.document(mechanism, data, None).fact("warnings").value

    assert warnings(ENDLESS) == []
    assert len(warnings(ENDLESS, 10**6)) == len(warnings(UNKNOWN)) == 1
