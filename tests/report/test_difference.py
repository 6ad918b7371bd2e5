"""Differences of two releases: coverage, rows that stand by chance, one-sided cases, refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document.differing import Differing
from dphist.document.kind import find_kind
from dphist.labels.bounding import read_users_above


def compare(before: dh.Release, after: dh.Release) -> Differing:
    """Return what the kind says of two releases; quicker than a document of them."""
    differing = find_kind(before).differing
    assert differing is not None
    return differing(before, after)


LABELS = [f"label {number}" for number in range(30)]


def count(counts: dict[str, int], epsilon: float = 1, **more: Any) -> dh.Release:
    """Release counts of labels."""
    public: dict[str, Any] = {"delta": "1e-6", "max_labels": 1} | more
    held = dh.LabelCounts.from_counts(
        list(counts), list(counts.values()), max_labels=public["max_labels"], max_count=1
    )
    return dh.ThresholdHistogram(epsilon=epsilon, **public).release(held)


def bin_ages(ages: Any, mechanism: Any, bins: int = 4) -> dh.Release:
    frame = pd.DataFrame({"age": ages})
    return mechanism.release(dh.bin_counts(frame, column="age", start=0, stop=10 * bins, width=10))


def rank(counts: list[int]) -> dh.Release:
    return dh.AdaptiveScan(epsilon=1).release(dh.Profile.from_counts(counts))


def read_stream(events: int, **more: Any) -> dh.Release:
    stream = dh.ContinualHistogram(epsilon=4, delta="1e-6", horizon=64, max_labels=1, **more)
    for _ in range(events):
        stream.update(["a"])
    stream.counts()
    return stream.release()


AGES = np.repeat([5, 15, 25], [40, 60, 80])
CASES: dict[str, tuple[Callable[[], dh.Release], Callable[[], dh.Release], dict[str, int], int]] = {
    "labels": (
        lambda: count({"a": 200, "b": 300}),
        lambda: count({"a": 260, "b": 300}, epsilon=0.5),
        {"a": 60, "b": 0},
        40,
    ),
    "gaussian": (
        lambda: count({"a": 200}, noise="gaussian"),
        lambda: count({"a": 220}, noise="laplace"),
        {"a": 20},
        40,
    ),
    "listed": (
        lambda: count({"a": 1, "b": 5}, delta=None, labels=["a", "b"]),
        lambda: count({"a": 0, "b": 9}, delta=None, labels=["a", "b"]),
        {"a": -1, "b": 4},
        40,
    ),
    "leaves": (
        lambda: bin_ages(AGES, dh.LeafCounts(epsilon=1, bins=4)),
        lambda: bin_ages(AGES + 10, dh.LeafCounts(epsilon=1, bins=4)),
        {"0": -40, "10": -20, "20": -20, "30": 80},
        30,
    ),
    "tree": (
        lambda: bin_ages(AGES, dh.HierarchicalTree(epsilon=1, bins=4)),
        lambda: bin_ages(AGES + 10, dh.HierarchicalTree(epsilon=1, bins=4)),
        {"0": -40, "10": -20, "20": -20, "30": 80},
        8,
    ),
    "anonymized": (
        lambda: rank([90, 50]),
        lambda: rank([190, 50]),
        {"1": 100, "2": 0},
        5,
    ),
    "streams": (lambda: read_stream(40), lambda: read_stream(60), {"a": 20}, 6),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_true_difference(case: str) -> None:
    before, after, truth, runs = CASES[case]
    missed = dict.fromkeys(truth, 0)
    for _ in range(runs):
        said = compare(before(), after())
        (low, high), (low_after, high_after) = said.bounds(0.975)
        ends = zip(
            next(iter(said.places.values())), low_after - high, high_after - low, strict=True
        )
        for name, least, most in ends:
            if name in truth:
                missed[name] += not least <= truth[name] <= most
    # More than 12 % plus 3 of them have probability below 1e-4 at 5 %.
    assert max(missed.values()) <= 3 + 0.12 * runs


@pytest.mark.parametrize("size", [11, 13, 15, 300])
def test_nothing_stands_if_nothing_changed(size: int) -> None:
    """Labels near the threshold are chosen by their noise: the correction must hold for these."""
    runs, wrong = 25, 0
    for _ in range(runs):
        pair = [count(dict.fromkeys(LABELS, size), epsilon=e) for e in (1, 0.7)]
        said = compare(*pair)
        (low, high), (low_after, high_after) = said.bounds(1 - 0.05 / (2 * said.tests))
        gap = np.maximum(low_after - high, low - high_after)
        wrong += bool((gap > said.margin).any())
    assert wrong <= 6  # of 25 at 5 %: more has probability below 1e-3


def users_with(users: int, labels: int) -> pd.DataFrame:
    """Return rows of users who all have the same labels."""
    pairs = [(user, f"label {label}") for user in range(users) for label in range(labels)]
    return pd.DataFrame(pairs, columns=["who", "what"])


def bound(frame: pd.DataFrame, most: int, cells: int | None = 20) -> dh.Release:
    told: dict[str, Any] = {"max_labels": most, "users_by_labels": cells}
    counts = dh.LabelCounts.from_table(frame, label="what", user="who", **told)
    return dh.ThresholdHistogram(epsilon=2, delta="1e-6", **told).release(counts)


def find(frame: pd.DataFrame, most: int) -> dh.Release:
    told: dict[str, Any] = {"max_labels": most, "keep_sets": True}
    counts = dh.LabelCounts.from_table(frame, label="what", user="who", **told)
    return dh.AutoThreshold(epsilon=2, delta="1e-6", max_labels=most).release(counts)


def test_users_who_are_bounded_differently() -> None:
    """All users have four labels: a bound of one drops three quarters, and nothing changed."""
    before, same, more = (
        bound(users_with(users, 4), most) for users, most in ((1000, 1), (1000, 4), (3000, 4))
    )
    found = dh.difference(before, same)
    assert len(found) == 4
    assert not found.stands.any()
    assert np.isnan(found.change).all()
    bounded = found.after - found.before
    assert (found.low < -bounded / 4).all()  # about 1000 - 250 - 1000
    assert (found.low > -400).all()
    assert (abs(found.high - bounded) < 40).all()
    assert found.document.fact("intervals_of").value == "counts before bounding"
    assert dh.difference(same, same).document.fact("intervals_of").value == "bounded counts"
    grown = dh.difference(before, more)
    assert grown.stands.all()
    assert ((grown.low < 2000) & (grown.high > 2000)).all()
    assert dh.difference(more, before).stands.all()
    with pytest.raises(dh.ParameterError, match=r"same max_labels.*users_by_labels"):
        dh.difference(before, bound(users_with(9, 4), 4, None))


def test_what_a_found_number_of_labels_says_of_users_above_it() -> None:
    """A number of labels that is the largest, 3, cuts users before they are counted."""
    cut, whole = (find(users_with(1000, 6), most) for most in (3, 8))
    found = dh.difference(cut, whole)
    assert not found.stands.any()
    assert ((found.low < -400) & (found.high > 400)).all()
    few = dh.difference(find(users_with(1000, 3), 40), find(users_with(2000, 6), 40))
    rows = few.to_pandas().set_index("label").loc["label 0"]
    assert rows.stands
    assert 800 < rows.low < 1000 < rows.high < 1200


def test_what_bounding_took_names_its_release() -> None:
    cut, whole = (bound(users_with(1000, 4), most) for most in (1, 4))
    told = json.loads(dh.difference(cut, whole).to_json())["bounding"]
    assert [each.split(" ")[0] for each in told] == ["Before:", "After:"]
    assert "at most 1 label;" in told[0]
    assert "at most 4 labels" in told[1]
    assert "release both with one fixed bound" in " ".join(str(dh.difference(cut, whole)).split())
    assert not json.loads(dh.difference(cut, cut).to_json())["bounding"][0].startswith("Before")


@pytest.mark.parametrize("most", [1, 4])
def test_bounds_before_bounding_share_the_error(most: int) -> None:
    """Half is for the noise of a count, and half for that of the number of users above."""
    release = bound(users_with(1000, 4), most)
    (low, high), _ = compare(release, bound(users_with(1000, 4), 5 - most)).bounds(0.9)
    users, mechanism = read_users_above(release), release.mechanism
    assert users is not None
    width = mechanism.half_width(0.95)
    counts = release.value.counts
    assert (high == counts + width + users.users_above(0.95)[1]).all()
    assert (low == counts - width).all()


def test_one_sided() -> None:
    found = dh.difference(count({"gone": 500, "same": 400}), count({"new": 300, "same": 400}))
    rows = found.to_pandas().set_index("label")
    assert np.isnan(rows.change["gone"])
    assert rows.high["gone"] < -400
    assert rows.stands["gone"]
    assert np.isnan(rows.before["new"])
    assert 0 < rows.low["new"] < 320
    assert rows.high["new"] > 280
    assert not rows.stands["same"]
    assert "not shown" in str(found)


def test_same_release_never_stands() -> None:
    release = count(dict.fromkeys(LABELS, 100))
    assert not dh.difference(release, release).stands.any()


REFUSED: dict[str, tuple[Callable[[], tuple[Any, Any]], str]] = {
    "kinds": (lambda: (count({"a": 90}), rank([9])), "one kind"),
    "bounds": (lambda: (count({"a": 90}), count({"a": 90}, max_labels=2)), "same max_labels"),
    "edges": (
        lambda: (
            bin_ages(AGES, dh.LeafCounts(epsilon=1, bins=4)),
            bin_ages(AGES, dh.LeafCounts(epsilon=1, bins=5), 5),
        ),
        "number of bins",
    ),
    "data": (lambda: (count({"a": 90}), {"a": 90}), "Release"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    make, said = REFUSED[case]
    with pytest.raises(dh.ParameterError, match=said):
        dh.difference(*make())


def test_rankings_are_refused() -> None:
    held = dh.LabelCounts.from_counts(["a"], [900], max_labels=1, max_count=1)
    top = dh.TopLabels(k=1, candidates=3, epsilon=1, delta="1e-6").release(held)
    with pytest.raises(dh.UnsupportedError, match="without counts"):
        dh.difference(top, top)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("october.json", "november.json")]
    count({"=TP53": 200}).save(paths[0])
    count({"=TP53": 900}).save(paths[1])
    assert main(["diff", *paths, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("label,before,after,change,low,high,stands\n=TP53,")
    assert main(["diff", *paths, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["compared"], said["standing"]) == (1, 1)
    assert said["rows"][0]["stands"]
    page = str(tmp_path / "page.html")
    assert main(["diff", *paths, "--output", page]) == 0
    assert "costs no further privacy" in Path(page).read_text(encoding="utf-8")
    assert "1 of 1 changes stand" in capsys.readouterr().out
    assert main(["diff", *paths, "--output", page]) == 2  # it exists
    assert main(["diff", paths[0], "none.json"]) == 2
    assert main(["diff", *paths, "--level", "3"]) == 2
    assert "level" in capsys.readouterr().err
