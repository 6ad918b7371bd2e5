"""What delta is worth for a number of units: named from 0.01 on, warned of from 0.1 on."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.document import guarantee_words as words
from dphist.document.guarantee_words import delta_in_words
from dphist.document.unit_words import Contribution, Number
from dphist.privacy import Target
from dphist.report import make_json, report_html, summary_text
from tests.support.command_line import run
from tests.support.report.releases import number_protected

MILLIONTH = Fraction(1, 10**6)
STRONG = "is a strong promise."


@pytest.mark.parametrize(
    ("users", "named", "warned"),
    [
        (1, False, False),
        (10_000, False, False),
        (10_001, True, False),
        (99_999, True, False),
        (100_000, True, True),
        (10**9, True, True),
    ],
)
def test_named_above_a_hundredth_and_warned_of_from_a_tenth(
    users: int, named: bool, warned: bool
) -> None:
    guarantee = dh.ApproxDP(1, MILLIONTH)
    text = words.guarantee_in_words(guarantee, dh.PrivacyUnit("user"), Number(users))
    assert ("δ times the number of users" in text) == named
    assert ("Warning" in text) == warned
    assert (STRONG in text) == (not warned)
    assert ("only if δ is small" in text) == warned


def test_what_is_said_of_it_is_rounded_to_the_side_that_claims_less() -> None:
    said = delta_in_words(Fraction(3, 10**7), Number(333_334))
    assert "is 0.11. A" in said  # 0.1000002
    advised = Fraction(said.split("Choose δ of ")[1].split(" or less")[0])
    assert advised * 333_334 <= Fraction(1, 100) < 2 * advised * 333_334
    # Of an unknown number: for how many it is meant.
    said = delta_in_words(Fraction(3, 10**7), Number())
    assert said.startswith("This δ is meant for up to 33,000 users")
    assert delta_in_words(Fraction(0), Number(10**9)) == ""


def test_a_weak_epsilon_is_weak_whatever_delta_is() -> None:
    text = words.guarantee_in_words(
        dh.ApproxDP(8, MILLIONTH), dh.PrivacyUnit("user"), Number(10**6)
    )
    assert "a weak promise" in text
    assert "Warning" in text


def test_a_pure_guarantee_needs_no_number() -> None:
    for number in (Number(), Number(10**9)):
        text = words.guarantee_in_words(dh.PureDP(1), Contribution(1), number)
        assert "δ" not in text
        assert STRONG in text


# --- what releases show


def labelled(count: int, **parameters: Any) -> dh.Release:
    mechanism = dh.ThresholdHistogram(
        epsilon=1, delta="1e-6", **{"max_labels": 1, "max_count": 1, **parameters}
    )
    return mechanism.release(pa.table({"label": ["x", "y"], "count": [count, 5_000]}))


@pytest.mark.usefixtures("repeatable")
def test_released_counts_show_how_many_there_are_at_least() -> None:
    assert 104_900 < number_protected(labelled(100_000)).units <= 105_100
    # Ten labels of three each: the larger of one label's users and of all labels' together.
    assert 33_000 < number_protected(labelled(100_000, max_labels=10, max_count=3)).units < 33_700
    assert number_protected(labelled(0)).noun == "users"
    ranked = dh.TopLabels(epsilon=1, delta="1e-6").release(
        pa.table({"label": ["x"], "count": [10**6]})
    )
    assert number_protected(ranked).units is None
    # Not calibrated, it is stated at twice its own delta.
    assert "This δ is meant for up to 5,000 users" in " ".join(summary_text(ranked).split())
    profile = dh.Profile.from_counts([1000] * 100)
    sampled = dh.PartitionSampler(epsilon=1, delta="1e-6", sensitivity=4)
    assert 24_000 < number_protected(sampled.release(profile)).units < 26_000
    tree = dh.LeafCounts(rho=1, bins=2, sensitivity=5).release([10**5, 5])
    assert 19_900 < number_protected(tree).units < 20_100


@pytest.mark.parametrize(("count", "warned"), [(1_000, False), (200_000, True)])
def test_releases_warn_on_page_in_summary_and_for_programs(count: int, warned: bool) -> None:
    release = labelled(count)
    for text in (summary_text(release), report_html(release)):
        shown = " ".join(text.split())
        assert ("Warning: δ times the number of users" in shown) == warned
        assert (STRONG in shown) == (not warned)
    assert bool(make_json(release)["warnings"]) == warned


@pytest.mark.parametrize("events", [9_000, 20_000, 150_000])
def test_streams_go_by_the_public_number_of_events(events: int) -> None:
    stream = dh.calibrate(dh.ContinualHistogram, epsilon=1, delta="1e-6", horizon=200_000)
    stream.update_many([["a"]] * events)
    shown = " ".join(summary_text(stream.release()).split())
    assert (f"δ times the number of events, {events:,}, is" in shown) == (events > 10_000)
    assert ("Warning" in shown) == (events >= 100_000)


@pytest.mark.usefixtures("repeatable")
def test_users_of_a_stream_are_counted_by_what_they_are_counted_for() -> None:
    mechanism = dh.ContinualMechanism(
        epsilon=9, delta="1e-4", horizon=10_000, max_events_per_user=2
    ).calibrated_to(Target(dh.ApproxDP(10**6, "1e-3")))
    stream = dh.ContinualHistogram(
        epsilon=9, delta="1e-4", horizon=10_000, max_events_per_user=2
    ).calibrated_to(mechanism.target)
    for user in range(500):
        stream.update(["a"], user=user)
    number = number_protected(stream.release())
    assert (number.noun, number.at_least) == ("users", True)
    assert 230 < number.units < 270


def test_of_concentrated_privacy_a_delta_is_taken_that_suits_the_number() -> None:
    """The delta of a conversion is a choice: nothing is warned of, another pair is stated."""
    release = dh.LeafCounts(rho="0.05", bins=2).release([3 * 10**6, 50])
    shown = " ".join(summary_text(release).split())
    assert "Warning" not in shown
    assert "With a δ for 3,000,0" in shown
    assert release.guarantee.to_approx_dp("3e-9").epsilon > 1
    assert f"that is {release.guarantee.to_approx_dp('3e-9')}" in shown
    few = " ".join(summary_text(dh.LeafCounts(rho="0.05", bins=2).release([30, 5])).split())
    assert "With a δ for" not in few


# --- commands

LABELS = ("--label", "word", "--user", "who", "--max-labels", 1)
COST = ("--epsilon", 1, "--delta", "1e-6")


@pytest.mark.verify
@pytest.mark.parametrize("command", ["labels", "top"])
def test_dry_runs_of_labels_warn(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for users, warned in ((None, False), (5_000, False), (200_000, True)):
        guess = () if users is None else ("--expect-users", users)
        assert run(command, "none", *LABELS, *COST, "--dry-run", *guess) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert ("Warning: δ times the number of users, 200,000, is 0.2." in text) == warned
        assert ("meant for up to 10,000 users" in text) == (users is None)
        assert run(command, "none", *LABELS, *COST, "--dry-run", "--json", *guess) == 0
        assert bool(json.loads(capsys.readouterr().out).get("warnings")) == warned


def test_dry_runs_of_streams_and_ranges_warn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = ("stream", "--state", tmp_path / "s", *COST, "--horizon", 10**6, "--dry-run")
    assert run(*stream) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Warning: δ times the number of events, 1,000,000, is 1." in said
    assert run(*stream, "--expect-events", 5_000) == 0
    assert "Warning" not in capsys.readouterr().out
    assert run(*stream, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 1
    ranges = (
        "ranges",
        "none",
        "--each-row-is-one-person",
        "--column",
        "age",
        "--edges",
        "0,18,65",
        "--dry-run",
    )
    assert run(*ranges, "--rho", "0.05", "--expect-total", 10**7) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "With a δ for 10,000,000 records that is (" in out
    assert run(*ranges, "--rho", "0.05", "--expect-total", 0) == 0
    assert "With a δ" not in capsys.readouterr().out


def test_show_warns_of_a_saved_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labelled(200_000).save(tmp_path / "r.json")
    assert run("show", tmp_path / "r.json") == 0
    assert "Warning: δ times the number of users" in capsys.readouterr().out
