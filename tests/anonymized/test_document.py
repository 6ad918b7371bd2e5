"""The document of an anonymized histogram: facts, and the error of each number."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.anonymized.kind import KIND
from dphist.document.blocks import (
    CARD,
    PAGE,
    TERMINAL,
    Between,
    Column,
    Document,
    Fact,
    PlusMinus,
    Table,
)
from dphist.document.kind import DataFacts
from dphist.render.text import text
from dphist.report import make_release_document
from tests.support.anonymized.told import COUNTS, MADE, SCAN, VISITS

each = pytest.mark.parametrize("name", MADE)


def told(name: str) -> Document:
    shown = make_release_document(MADE[name]())
    assert isinstance(shown, Document)
    return shown


def table_of(document: Document) -> Table:
    (section,) = (each for each in document.sections if each.name == "histogram")
    (table,) = (block for block in section.list_blocks(PAGE) if isinstance(block, Table))
    return table


@pytest.mark.verify
@each
def test_numbers_of_the_release_are_facts(name: str) -> None:
    release, document = MADE[name](), told(name)
    assert document.fact("labels").value == release.value.labels
    assert document.fact("total").value == release.total
    assert document.fact("guarantee").value["sensitivity"] == release.mechanism.sensitivity
    counts = table_of(document).columns[0]
    assert np.array_equal(counts.cells, release.value.counts[::-1])


@pytest.mark.quick(every=3)
@each
def test_every_number_has_its_error(name: str) -> None:
    """Of a page, a card and a summary; those of the population say that they have none."""
    document = told(name)
    for surface in (TERMINAL, CARD):
        for block in document.blocks(surface):
            if isinstance(block, Table):
                assert all(column.low is not None for column in block.columns[1:])
    records, total = next(document.blocks(CARD)), MADE[name]().total
    assert isinstance(records, Fact)
    assert isinstance(records.error, Between if total is None else PlusMinus)
    assert isinstance(document.fact("labels").error, Between)


@pytest.mark.verify
@each
def test_intervals_hold_the_released_numbers(name: str) -> None:
    release, document = MADE[name](), told(name)
    error = document.fact("labels").error
    assert isinstance(error, Between)
    assert error.low <= release.value.labels <= error.high
    for column in table_of(document).columns[1:]:
        assert np.all(np.asarray(column.low) <= np.asarray(column.cells))
        assert np.all(np.asarray(column.cells) <= np.asarray(column.high))


@pytest.mark.verify
def test_intervals_of_the_table_hold_the_true_numbers() -> None:
    """Those of all counts at once hold with probability 0.95 or more: of 60 releases, at most 8
    may miss, which happens with probability 0.002 if 5 % do."""
    missed = 0
    for seed in range(60):
        release = SCAN.release(COUNTS, random.Random(seed).randbytes)
        columns = table_of(make_release_document(release)).columns
        counts = np.asarray(columns[0].cells)
        more = COUNTS.cumulative_prevalences(counts)
        same = more - COUNTS.cumulative_prevalences(counts + 1)
        missed += not (_hold(columns[1], same) and _hold(columns[2], more))
    assert missed <= 8


def _hold(column: Column, true: Any) -> bool:
    return bool(np.all(np.asarray(column.low) <= true) and np.all(true <= np.asarray(column.high)))


@pytest.mark.parametrize(
    "mechanism",
    [
        SCAN,
        dh.AdaptiveScan(epsilon="0.5", sensitivity=3),
        dh.RankSplit(epsilon=1),
        dh.PrivHist(epsilon=1, sensitivity=2),
        dh.PrivHist(epsilon="0.5", shares=(2, 1, 1)),
    ],
)
@pytest.mark.quick("[mechanism2]", "[mechanism3]")
def test_the_standard_error_of_a_total_is_that_of_its_noise(mechanism: Any) -> None:
    """The spread of 300 totals is known to 6.5 %: noise 1.3 times as large would be seen."""
    noise, stated = [], []
    for seed in range(300):
        release = mechanism.release(COUNTS, random.Random(seed).randbytes)
        noise.append(release.total - COUNTS.total)
        stated.append(mechanism.standard_error_of_total(release))
    ratio = np.sqrt(np.mean(np.square(noise))) / np.sqrt(np.mean(np.square(stated)))
    assert 0.8 < ratio < 1.25


@pytest.mark.parametrize("mechanism", [dh.SortedCounts, dh.CumulativeCounts])
def test_a_histogram_without_a_total_of_its_own(mechanism: Callable[..., Any]) -> None:
    known = {"labels": 40} if mechanism is dh.SortedCounts else {"largest": 99}
    made = mechanism(epsilon=1, **known)
    assert made.standard_error_of_total(made.release(COUNTS)) is None
    assert dh.RankSplit(epsilon=1, total=600).standard_error_of_total(made.release(COUNTS)) is None


def test_an_empty_histogram_is_not_said_to_be_of_no_records() -> None:
    release = MADE["scan of nothing"]()
    empty = replace(release, value=dh.AnonymizedHistogram([], []), total=92)
    shown = make_release_document(empty)
    assert isinstance(shown, Document)
    said = f"{shown.result}"
    assert said.startswith("The released histogram is empty: no label stands out from the noise.")
    assert "By a separate estimate there are 92 ± " in said
    assert "there are no records" not in said


def test_without_a_release_a_document_is_a_dry_run() -> None:
    """It has the guarantee and the errors to expect, and nothing of data."""
    facts = DataFacts(unit=dh.PrivacyUnit("patient"), guesses=(1000, 5000))
    mechanism = dh.RankSplit(epsilon=1, sensitivity=5)
    document = KIND.document(mechanism, facts, None)
    assert document.fact("guarantee").value["unit"] == "one patient"
    expected = document.fact("expected_error").value
    assert expected == {
        "1000": mechanism.expected_error(1000),
        "5000": mechanism.expected_error(5000),
    }
    assert document.fact("mechanism").value == "RankSplit"
    with pytest.raises(KeyError):
        document.fact("labels")


def test_a_dry_run_promises_what_the_release_does() -> None:
    mechanism = dh.AdaptiveScan(epsilon=1, sensitivity=2)
    profile = dh.Profile.from_table(VISITS, label="drug", user="patient", max_records=2)
    release = mechanism.release(profile)
    made = KIND.document(mechanism, DataFacts.of(release), release)
    planned = KIND.document(mechanism, DataFacts(unit=dh.PrivacyUnit("user")), None)
    for key in ("guarantee", "neighbors", "cost"):
        assert planned.fact(key).text == made.fact(key).text
        assert planned.fact(key).value == made.fact(key).value


@pytest.mark.parametrize("name", ["scan of patients, in words", "four releases"])
def test_the_owner_s_words_stand_in_every_sentence_and_plain_words_in_json(name: str) -> None:
    document = told(name)
    said = text(document).replace("owner's word for one record", "")
    assert not re.findall(r"\b(?:labels?|records?|users?)\b", said, re.IGNORECASE)
    assert {"drugs", "visits"} <= set(re.findall(r"\w+", said.lower()))
    assert document.fact("counts_of").value.startswith("records")
