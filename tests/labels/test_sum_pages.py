"""What pages, terminals, tables, plans and ledgers say of sums and means."""

import csv
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.labels.total_words import clamping_in_numbers, describe_totals
from dphist.noise.law import Drawing, NoiseLaw
from dphist.release.users_by_total import UsersByTotal
from tests.support.command_line import run

COSTS = ["--epsilon", "1", "--delta", "1e-6", "--max-labels", "2"]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    words = {"tea": 600, "milk, fresh": 400, "rare": 3}
    frame = pd.DataFrame(
        [(who, word, 1.5 + who % 7) for word, most in words.items() for who in range(most)],
        columns=["who", "word", "spent"],
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return str(tmp_path / "rows.csv")


def release(rows: str, folder: Path, *more: str) -> Path:
    out = folder / "r.json"
    given = [rows, "--label", "word", "--user", "who", *COSTS, "--sum", "spent=0:10:0.01"]
    assert run("labels", *given, "--output", str(out), *more) == 0
    return out


def test_a_table_has_sums_and_means_with_intervals(rows: str, tmp_path: Path) -> None:
    path = release(rows, tmp_path, "--table", str(tmp_path / "t.csv"))
    value = dh.Release.load(path).value
    with (tmp_path / "t.csv").open() as file:
        found = list(csv.DictReader(file))
    assert [row["label"] for row in found] == value.labels
    for row in found:
        for what, said in (
            ("sum", value.sum(row["label"], of="spent")),
            ("mean", value.mean(row["label"])),
        ):
            numbers = [float(row[f"spent_{what}{end}"]) for end in ("", "_low", "_high")]
            assert all(map(math.isclose, numbers, said)), (numbers, said)


def test_a_page_and_a_summary_say_sums(
    rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = release(rows, tmp_path, "--report", str(tmp_path / "r.html"))
    page = (tmp_path / "r.html").read_text()
    assert "Sums and means" in page
    assert "clamped from 0 to 10" in page
    assert "Nothing is known of how many totals were outside" in page
    capsys.readouterr()
    assert run("show", str(path)) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Error of sums" in text
    assert "Mean (clamped)" in page
    assert "Sum (clamped)" in page
    assert "A mean is over the users that count for a label after bounding" in text
    assert "Nothing is known of how many totals" in text


def test_a_dry_run_states_errors_before_the_file_is_opened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["none.csv", "--label", "word", "--user", "who", *COSTS, "--sum", "spent=0:10:0.01"]
    assert run("labels", *given, "--dry-run") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Error of sums" in text
    assert "of a mean over 100 users ±" in text
    assert run("labels", *given, "--dry-run", "--json") == 0
    sums = json.loads(capsys.readouterr().out)["sums"]
    made = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=1,
        delta="1e-6",
        max_labels=2,
        noise="best",
        sums={"spent": dh.Clamp(0, 10, "0.01")},
    )
    answers = made.sum_answers["spent"]
    assert sums["spent"]["half_width_of_sum"] == answers.sum_reach(0.95)
    assert sums["spent"]["half_width_of_mean_of_100"] == answers.mean_reach(100, 0.95)
    assert (sums["spent"]["low"], sums["spent"]["high"], sums["spent"]["step"]) == (
        "0",
        "10",
        "0.01",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sum", "spent=0:10:0.3", *COSTS], "step must divide high"),
        (["--sum", "spent=10:0:1", *COSTS], "must be in ascending order"),
        (["--sum", "spent", *COSTS], "must be COLUMN=LOW:HIGH:STEP"),
        (["--sum", "spent=0:1", *COSTS], "must be LOW:HIGH:STEP"),
        (["--sum", "spent=0:1:1", "--sum", "spent=0:2:1", *COSTS], "must name each column once"),
        (["--sums-share", "0.3", *COSTS], "needs --sum"),
        (["--sum", "spent=0:1:1", "--only-labels", *COSTS], "no counts are released"),
    ],
)
def test_faults_are_found_before_the_file_is_opened(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = run("labels", "none.csv", "--label", "word", "--user", "who", *words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_ledger_is_charged_for_sums(rows: str, tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=3, delta="1e-5", unit="one user")
    sums = {"spent": dh.Clamp(0, 10, "0.01")}
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 2, "noise": "gaussian"}
    mechanism = dh.ThresholdHistogram(**given, sums=sums)
    counts = dh.LabelCounts.from_table(rows, label="word", user="who", max_labels=2, sums=sums)
    other = dh.LabelCounts.from_table(rows, label="word", user="who", max_labels=2)
    alone = dh.calibrate(dh.ThresholdHistogram, **given)
    both = dh.calibrate(dh.ThresholdHistogram, **given, sums=sums)
    assert float(both.noise_scale / alone.noise_scale) == pytest.approx(2**0.5, rel=0.02)
    assert mechanism.guarantee.rho == 2 * dh.ThresholdHistogram(**given).guarantee.rho
    wider = {"spent": dh.Clamp(0, 20, "0.01")}
    wide = dh.LabelCounts.from_table(rows, label="word", user="who", max_labels=2, sums=wider)
    for refused in (other, wide, replace(counts, max_count=2)):
        with pytest.raises(dh.BoundsError):
            ledger.release(both, refused, by="ann", key="1")
    assert ledger.balance().totals.entries == 0
    made = ledger.release(both, counts, by="ann", key="2")
    assert made.value.sums == ["spent"]
    ledger.close()


def test_what_clamping_took_is_said_everywhere(
    rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 600 users, those with 7.5 have a total above 7: about one in seven."""
    given = [rows, "--label", "word", "--user", "who", *COSTS, "--sum", "spent=0:7:0.01"]
    given += ["--users-by-totals", "--noise", "laplace"]
    out = {name: str(tmp_path / name) for name in ("r.json", "r.html", "t.csv")}
    said = ["--output", out["r.json"], "--report", out["r.html"], "--table", out["t.csv"]]
    assert run("labels", *given, *said, "--json") == 0
    sums = json.loads(capsys.readouterr().out)["sums"]["spent"]
    saved = dh.Release.load(out["r.json"])
    share = saved.mechanism.share_clamped(saved)["spent"]
    assert sums["share_of_users_clamped"] == [share.value, share.low, share.high]
    assert share.low < 1 / 7 < share.high
    found = saved.mechanism.users_of_totals(saved.noisy)["spent"]
    most = sums["sum_changed_at_most"]
    assert Fraction(math.nextafter(most, 0)) < found.change_at_most() <= Fraction(most)
    assert sums["users_by_totals"]["users"] == [*found.noisy]
    assert sums["users_by_totals"]["from"][:2] == [None, "-63"]
    with Path(out["t.csv"]).open() as file:
        for row in csv.DictReader(file):
            assert float(row["spent_users_clamped"]) == pytest.approx(share.value, rel=1e-3)
            assert float(row["spent_users_clamped_high"]) == share.high
    assert run("show", out["r.json"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    page = Path(out["r.html"]).read_text()
    for each in (text, " ".join(page.replace("<bdi>", "").replace("</bdi>", "").split())):
        assert "of users have a total of spent below 0 or above 7, of one of their labels" in each
        assert "their labels that count, shown or not (95 % interval" in each
        assert "Nothing is known of how many totals were outside" not in each
    assert "with a clamped total" in page
    assert "above 70" in page
    assert run("labels", *given, "--dry-run") == 0
    assert "states how many users have a total outside" in " ".join(capsys.readouterr().out.split())
    below = ["--show-below", "100"]
    assert run("show", out["r.json"], "--report", out["r.html"], "--overwrite", *below) == 0
    assert "&lt;100" in Path(out["r.html"]).read_text()


def test_a_share_that_may_be_0_is_not_said_to_be_of_some_users() -> None:
    """Thirty users, all within the clamp, and noise that leaves nearly any share possible."""
    clamp = dh.Clamp(0, 10, 1)
    mechanism = dh.ThresholdHistogram(
        epsilon="0.3", delta="1e-6", max_labels=1, sums={"x": clamp}, users_by_totals=True
    )
    users = np.zeros(len(clamp.starts) + 1, np.int64)
    users[clamp.starts.index(0) + 1] = 30
    found = mechanism.users_of_totals({"users_by_totals": users})["x"]
    share = found.share_clamped()
    assert share.low == 0
    assert share.high > 0.5
    ends = f"0 to {round(1000 * share.high) / 10:g} %"
    said = str(clamping_in_numbers("x", found))
    assert said.startswith(f"{ends} of users have a total of x below 0 or above 10, of one of")
    assert "shown or not (95 %; too uncertain for one number). Clamping changed" in said


@pytest.fixture
def found() -> UsersByTotal:
    """One user with a total from 0.5 to 0.8, beyond a clamp that ends at 0.2; three far beyond."""
    clamp = dh.Clamp(0, "0.2", "0.1")
    law = NoiseLaw("two-sided geometric", Fraction(1, 10**6), Drawing.WHOLE)
    users = np.zeros(len(clamp.starts) + 1, np.int64)
    users[clamp.starts.index(5) + 1] = 1
    users[-1] = 3
    return UsersByTotal(clamp, tuple(users.tolist()), law)


def test_a_bound_for_programs_is_rounded_up(found: UsersByTotal) -> None:
    most = found.change_at_most()
    assert Fraction(float(most)) < most == Fraction("0.6")
    said = describe_totals(found)["sum_changed_at_most"]
    assert Fraction(math.nextafter(said, 0)) < most <= Fraction(said)


def test_small_numbers_of_users_that_are_hidden_read_right(found: UsersByTotal) -> None:
    assert ", and at most 3 users have a total farther" in str(clamping_in_numbers("x", found))
    assert ", and at most 3 users have a total farther" in str(clamping_in_numbers("x", found, 3))
    assert ", and fewer than 20 users have a total farther" in str(
        clamping_in_numbers("x", found, 20)
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*COSTS, "--user", "who"], "--users-by-totals needs --sum"),
        ([*COSTS, "--user", "who", "--null-users", "separate", "--sum", "x=0:1:1"], "other than"),
        (["--epsilon", "1", "--delta", "1e-6", "--user", "who", "--sum", "x=0:1:1"], "fixed"),
    ],
)
def test_what_users_by_totals_need(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("labels", "none.csv", "--label", "word", *words, "--users-by-totals") == 2
    assert said in " ".join(capsys.readouterr().err.split())
