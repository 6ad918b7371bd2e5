"""Wherever a count of bounded data stands, it says what it counts."""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.document.unit_words import Number
from dphist.errors import ParameterError
from dphist.labels.bounding import bounding_in_numbers
from dphist.report import make_json, report_html, summary_text
from tests.support.report.releases import number_protected

ROWS = pd.DataFrame({"who": np.arange(3000) % 700, "x": np.arange(3000) // 9 % 50, "w": "a"})
TEXTS = ROWS.assign(w=ROWS["x"].astype(str))


def labelled(**more: Any) -> dh.Release:
    counts = dh.LabelCounts.from_table(TEXTS, label="w", user="who", max_labels=2, **more)
    asked: dict[str, Any] = more if more else {}
    return dh.ThresholdHistogram(epsilon=2, delta="1e-6", max_labels=2, **asked).release(counts)


def binned() -> dh.Release:
    counts = dh.bin_counts(ROWS, column="x", start=0, stop=50, width=1, user="who", max_records=2)
    return dh.LeafCounts(epsilon=1, bins=50, sensitivity=2).release(counts)


def anonymized() -> dh.Release:
    profile = dh.Profile.from_table(TEXTS, label="w", user="who", max_records=2)
    return dh.AdaptiveScan(epsilon=1, sensitivity=2).release(profile)


def stream() -> dh.Release:
    running = dh.ContinualHistogram(
        epsilon=1, delta="1e-6", horizon=4000, max_labels=1, max_events_per_user=2
    )
    running.update_many(TEXTS.assign(event=range(len(TEXTS))), label="w", user="who", event="event")
    running.counts()
    return running.release()


CUT = {
    "labels": (labelled, "after each user was bounded to at most 2 labels and 1 record of each"),
    "labels and users": (
        lambda: labelled(users_by_labels=5),
        "after each user was bounded to at most 2 labels and 1 record of each",
    ),
    "ranges": (binned, "after each user was bounded to at most 2 records"),
    "anonymized": (anonymized, "after each user was bounded to at most 2 records"),
    "stream": (stream, "after each user was bounded to at most 2 events with 1 label each"),
}


def read(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.parametrize(("make", "said"), CUT.values(), ids=CUT)
def test_counts_say_that_users_were_cut(make: Callable[[], dh.Release], said: str) -> None:
    release = dh.Release.from_json(make().to_json())
    page = report_html(release)
    headline = read(page[page.index("<h1>") : page.index("<section")])
    assert said in headline
    assert "Intervals cover the noise, not what is above the bounds" in headline
    assert "(bounded)" in read(page[page.index("<table") :])
    assert said in read(summary_text(release))
    assert said in make_json(release)["counts_of"]
    axes = dh.plot(release)
    legends = [text.get_text() for ax in axes for text in ax.get_legend().get_texts()]
    assert sum("bounded" in text for text in legends) == len(axes)
    plt.close("all")


def test_nothing_is_said_to_be_cut_that_was_not() -> None:
    whole = dh.LabelCounts.from_table(TEXTS, label="w")
    plain = dh.ThresholdHistogram(epsilon=2, delta="1e-6", max_labels=1).release(whole)
    promised = dh.ThresholdHistogram(epsilon=2, delta="1e-6", max_labels=1).release(
        pd.DataFrame({"label": ["a"], "count": [10**6]})
    )
    records = dh.LeafCounts(epsilon=1, bins=3).release([5, 6, 7])
    for release in (plain, promised, records):
        page = report_html(release)
        assert "was bounded to" not in page
        assert "(bounded)" not in page
    assert "as the caller counted them" in read(report_html(promised))


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        ({"max_labels": 2}, "at most 2 labels and 1 record of each"),
        ({"max_labels": 2, "max_count": 3}, "at most 2 labels and 3 records of each"),
        ({}, "at most 1 record of each label"),
    ],
)
def test_what_users_were_cut_to_are_the_data_s_bounds(counted: dict, said: str) -> None:
    """A mechanism may protect more than the data have."""
    data = dh.LabelCounts.from_table(TEXTS, label="w", user="who", **counted)
    asked = dh.ThresholdHistogram(epsilon=2, max_labels=9, max_count=5, labels=["1", "2"])
    release = dh.Release.from_json(asked.release(data).to_json())
    assert f"after each user was bounded to {said}" in read(summary_text(release))


@pytest.mark.verify
def test_a_profile_s_users_were_cut_to_its_bound() -> None:
    profile = dh.Profile.from_table(TEXTS, label="w", user="who", max_records=2)
    wide = dh.AdaptiveScan(epsilon=1, sensitivity=10).release(profile)
    assert "each user was bounded to at most 2 records" in read(summary_text(wide))


def test_rows_of_counts_are_cut_and_rows_are_not() -> None:
    rows = pd.DataFrame({"w": ["a"] * 400, "n": [7] * 400})
    asked = dh.ThresholdHistogram(epsilon=2, delta="1e-6", max_labels=1)
    cut = dh.LabelCounts.from_table(rows, label="w", count="n")
    assert "after each row was bounded to at most 1" in read(summary_text(asked.release(cut)))
    whole = dh.LabelCounts.from_table(rows, label="w")
    assert "Counts and intervals are of records." in read(summary_text(asked.release(whole)))


def test_ranks_have_no_counts() -> None:
    data = dh.LabelCounts.from_table(TEXTS, label="w", user="who")
    release = dh.TopLabels(epsilon=2, delta="1e-6", k=3, candidates=5).release(data)
    assert "counts_of" not in make_json(release)


@pytest.mark.verify
def test_how_many_users_were_cut_stands_beside_the_intervals() -> None:
    release = labelled(users_by_labels=5)
    users = release.mechanism.users(release.noisy)
    told = read(bounding_in_numbers(users, release.mechanism))  # type: ignore[arg-type]
    assert told.startswith("Counts are about ")
    assert "because each user counts for at most 2 labels" in told
    assert told in read(report_html(release))
    assert told in read(summary_text(release))
    found, share = make_json(release)["bounding"], users.share_cut()
    assert found["share_of_pairs_dropped"]["2"] == [share.value, share.low, share.high]
    assert (found["users_above"], found["users_above_at_most"]) == users.users_above()
    assert found["users_by_labels"] == {"from": [1, 2, 3, 4, 5], "users": list(users.noisy)}
    assert share.low <= share.value <= share.high
    without = labelled()
    assert "Nothing is known of how much bounding took" in read(report_html(without))
    assert make_json(without)["bounding"] is None


def test_programs_are_told_what_a_found_cap_took() -> None:
    auto = dh.calibrate(dh.AutoThreshold, epsilon=1, delta="1e-6", max_labels=20)
    data = dh.LabelCounts.from_table(TEXTS, label="w", user="who", max_labels=20, keep_sets=True)
    release = auto.release(data)
    share, cap = dh.share_cut(release), auto.chosen(release).max_labels
    assert make_json(release)["bounding"] == {
        "max_labels": cap,
        "share_of_pairs_dropped": {str(cap): [share.value, share.low, share.high]},
        "estimate": True,
    }


def test_the_share_that_bounding_took_is_asked_of_labels_too() -> None:
    release = labelled(users_by_labels=5)
    users = release.mechanism.users(release.noisy)
    assert dh.share_cut(release) == users.share_cut()
    with pytest.raises(ParameterError, match="users_by_labels"):
        dh.share_cut(labelled())


def test_released_numbers_of_users_say_what_delta_is_worth() -> None:
    """They are how many users there are; without them counts show how many there are at least."""
    assert number_protected(labelled()).at_least
    release = labelled(users_by_labels=5)
    for first, second, users in [(900, 100, 1000), (900, -3, 897), (-1, -2, None)]:
        release.noisy["users"][:] = first, second, 0, 0, 0
        assert number_protected(release) == Number(users, "users")


@pytest.mark.verify
def test_how_it_was_made_names_the_numbers_of_users() -> None:
    said = "The numbers of users who have one label, two, and so on get noise too."
    assert said in read(report_html(labelled(users_by_labels=5)))
    assert said not in read(report_html(labelled()))
