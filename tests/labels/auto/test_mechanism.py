"""AutoThreshold: what it takes, what it gives out, and what it says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.errors import BoundsError, ParameterError, ReleaseFileError
from dphist.labels.auto.law import TOPS
from dphist.labels.bounding import bounding_cost, estimate_in_words
from dphist.release.fitted_users import Share
from tests.support.mechanisms.cases import signed

STRONG = dh.AutoThreshold(epsilon=20, delta="1e-6", max_labels=50)
ROWS = pd.DataFrame(
    [(user, f"term {label}") for user in range(300) for label in range(1 + user % 12)],
    columns=["who", "term"],
)


def of(rows: pd.DataFrame = ROWS, **options: Any) -> dh.LabelCounts:
    named: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 50, **options}
    return dh.LabelCounts.from_table(rows, **{"keep_sets": True, **named})


@pytest.mark.usefixtures("repeatable")
def test_the_cap_is_found_and_said() -> None:
    release = STRONG.release(of())
    chosen = STRONG.chosen(release)
    assert chosen.max_labels in (16, 20)
    assert release.noisy["users"].sum() == pytest.approx(300, abs=30)
    tried = {each.max_labels: each for each in STRONG.tried(release)}
    assert [*tried] == [*STRONG.caps]
    assert tried[chosen.max_labels].error == min(each.error for each in tried.values())
    true = ROWS.groupby("who").size()
    for cap in (3, 6):
        share = 1 - np.minimum(true, cap).sum() / true.sum()
        assert tried[cap].share_cut.value == pytest.approx(share, abs=0.05)
    found = STRONG.share_cut(release)
    expected = tried[chosen.max_labels].share_cut
    assert (found.value, found.high) == (expected.value, expected.high)
    assert found.low <= min(expected.low, 0.01)
    held = dict(zip(release.value.labels, release.value.counts.tolist(), strict=True))
    for label, count in ROWS.groupby("term").size().items():
        assert held[label] == pytest.approx(count, abs=6)


@pytest.mark.parametrize("users", [0, 1, 40])
@pytest.mark.usefixtures("repeatable")
def test_too_few_users_say_nothing_of_the_share(users: int) -> None:
    """Laws are then fitted to noise; their interval held the share in a third of runs."""
    mechanism = dh.calibrate(dh.AutoThreshold, epsilon=1, delta="1e-6", max_labels=1000)
    rows = pd.DataFrame({"who": [*range(users)], "term": ["some"] * users}, dtype="str")
    release = mechanism.release(of(rows, max_labels=1000))
    share = mechanism.share_cut(release)
    assert (share.low, share.high) == (0, 1)
    assert "Nothing is known of how much too low counts are" in bounding_cost(release)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.usefixtures("repeatable")
def test_the_share_of_users_of_one_size_is_in_its_interval(size: int) -> None:
    """A fitted law always has a tail: alone, it says that the cap cuts a little of equal users."""
    mechanism = dh.calibrate(dh.AutoThreshold, epsilon=1, delta="1e-6", max_labels=1000)
    rows = pd.DataFrame(
        [(user, term) for user in range(1_000) for term in range(size)], columns=["who", "term"]
    )
    counts, inside = of(rows, max_labels=1000), []
    for _ in range(12):
        release = mechanism.release(counts)
        true = 1 - min(size, mechanism.chosen(release).max_labels) / size
        share = mechanism.share_cut(release)
        inside.append(share.low <= true <= share.high)
    assert np.mean(inside) > 0.8


def test_the_share_is_said_as_surely_as_it_is_known() -> None:
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=3)
    said = [estimate_in_words(Share(0.3, *ends), mechanism) for ends in ((0.2, 0.4), (0.1, 0.7))]
    assert said[0].startswith("Counts are about 30 % too low on average (an estimate; probably 20")
    assert said[1].startswith("Counts are too low by 10 to 70 % on average (an estimate; too unce")


def test_noise_and_threshold_are_those_of_the_chosen_cap() -> None:
    mechanism = dh.AutoThreshold(epsilon=1, delta="1e-6", max_labels=50)
    for cap in mechanism.caps:
        same = mechanism.at(cap)
        assert same.noise_scale == mechanism.division.count_scale(cap)
        assert same.threshold == mechanism._threshold_at(cap)
        assert same.guarantee.rho + mechanism.look * mechanism.guarantee.rho <= (
            mechanism.guarantee.rho
        )
    release = mechanism.release(of())
    bounds = mechanism.intervals(release)
    assert bounds is not None
    assert (bounds.upper - release.value.counts == mechanism.chosen(release).half_width()).all()


def test_calibration_reaches_the_total() -> None:
    found = dh.calibrate(dh.AutoThreshold, epsilon=1, delta="1e-6", max_labels=1000)
    reached = found.epsilon_at("1e-6")
    assert reached is not None
    assert 0.999999 < reached <= 1
    assert found.epsilon_at("1e-7") is None
    worse = found.guarantee.to_approx_dp("1e-6").epsilon
    assert reached < worse  # that of zCDP


def test_users_who_were_cut_to_fewer_are_refused() -> None:
    """Numbers of users after a cut would be stated as if no user had more."""
    with pytest.raises(BoundsError, match="needs data with the same bound"):
        STRONG.release(of(max_labels=10))
    with pytest.raises(BoundsError, match="the mechanism protects"):
        STRONG.release(of(max_labels=51))


@pytest.mark.parametrize(
    "table",
    [ROWS.groupby("term").size().reset_index(name="count").rename(columns={"term": "label"})],
)
def test_counts_alone_are_refused(table: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="keep_sets=True"):
        STRONG.release(table)
    with pytest.raises(ParameterError, match="keep_sets=True"):
        STRONG.release(of(keep_sets=False))


def test_rows_that_are_users_have_one_label() -> None:
    rows = ROWS.assign(who=[None, *ROWS["who"].astype(str)[1:]])
    release = STRONG.release(of(rows, null_users="separate"))
    assert release.noisy["users"].sum() == pytest.approx(300, abs=30)
    assert len(STRONG.release(of(ROWS[:0])).value) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"look": 0}, {"look": 1}, {"look": -1}, {"max_labels": 0}, {"max_labels": 2**20 + 1},
        {"epsilon": "1e-12"}, {"delta": 0},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        dh.AutoThreshold(**{"epsilon": 1, "delta": "1e-6", "max_labels": 50, **wrong})


def test_a_file_with_numbers_of_no_release_is_refused(tmp_path: Path) -> None:
    release = STRONG.release(of())
    release.save(tmp_path / "r.json")
    assert dh.Release.load(tmp_path / "r.json") == release
    content = json.loads(release.to_json())
    for name, wrong in [("max_labels", [7]), ("max_labels", [3, 3]), ("largest_counts", [1])]:
        noisy = {**content["noisy"], name: wrong}
        with pytest.raises(ReleaseFileError):
            dh.Release.from_json(signed({**content, "noisy": noisy}))
    noisy = {name: held for name, held in content["noisy"].items() if name != "users"}
    with pytest.raises(ReleaseFileError):
        dh.Release.from_json(signed({**content, "noisy": noisy}))
    assert len(release.noisy["largest_counts"]) == len(TOPS)
