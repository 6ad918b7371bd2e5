"""Sums beside the counts of a cap that is found: docs/understand/proofs/sums.md, Lemma 9."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.counting.bounding.stores import Sets
from dphist.counting.engine.rows import DuckRows
from dphist.lab.auditing.replay import loss_of_neighbours
from dphist.labels.auto.measuring import count_cut
from dphist.labels.threshold.law import grid
from tests.support.command_line import run

SUMS = {"spent": dh.Clamp(-3, 9, "0.5"), "hours": dh.Clamp(0, 24, 1)}
STRONG = dh.AutoThreshold(epsilon=2000, delta="1e-6", max_labels=50, sums=SUMS)


def rows_of(seed: int, users: int = 90) -> pd.DataFrame:
    """Users with 1 to 8 labels, of some several rows, with values within and beyond the bounds."""
    draw = random.Random(seed)
    rows = [
        (user, label, draw.choice([-7, -0.5, 0.2, 3, 40]), draw.randrange(-3, 40))
        for user in range(users)
        for label in draw.sample("abcdefghij", draw.randint(1, 8))
        for _ in range(draw.choice([1, 1, 3]))
    ]
    return pd.DataFrame(rows, columns=["who", "term", "spent", "hours"])


def count(rows: Any, seed: int = 1, **more: Any) -> dh.LabelCounts:
    given: dict[str, Any] = {"label": "term", "user": "who", "sums": SUMS, **more}
    return dh.LabelCounts.from_table(rows, **given, source=random.Random(seed).randbytes)


def read_sums(counts: dh.LabelCounts) -> dict[str, list[int]]:
    """Count and sums of each label that occurs."""
    labels = [*"abcdefghij"]
    numbers = zip(counts.counts_of(labels), *counts.sums_of(labels), strict=True)
    return {a: [*b] for a, b in zip(labels, numbers, strict=True) if b[0]}


def read_cut(sets: Sets, cap: int) -> dict[str, list[int]]:
    columns = count_cut(sets, cap, summed=True).to_pydict()
    return {row[0]: [*row[1:]] for row in zip(*columns.values(), strict=True)}


FEW_ROWS = "dphist.counting.engine.rows.FEW_ROWS"


@pytest.mark.parametrize("few", [2**16, -1], ids=["few", "many"])
@pytest.mark.parametrize("ties", [False, True], ids=["", "ties"])
def test_sums_at_a_cap_are_those_of_a_bound(
    ties: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under one key: a label that the cap cuts off is in no sum, and totals are clamped alike."""
    monkeypatch.setattr(FEW_ROWS, few)
    if ties:
        monkeypatch.setattr(DuckRows, "hash_columns", lambda *_: "hash(term) % 8")
    for seed, cap in itertools.product(range(3), (1, 2, 5, 8)):
        rows = rows_of(seed)
        held = count(rows, seed, max_labels=8, keep_sets=True)
        assert held.sets is not None
        plain = read_sums(count(rows, seed, max_labels=cap))
        assert read_cut(held.sets, cap) == plain
        if cap == 8:
            assert read_sums(held) == plain


def test_rows_without_a_user_are_clamped_one_by_one() -> None:
    rows = rows_of(4)
    rows["who"] = rows["who"].astype("Int64").where(rows["who"] % 3 > 0)
    given: dict[str, Any] = {"max_labels": 4, "null_users": "separate"}
    held = count(rows, 2, keep_sets=True, **given)
    assert held.sets is not None
    assert read_cut(held.sets, 4) == read_sums(count(rows, 2, **given)) == read_sums(held)
    alone = count(rows, 2, user=None, keep_sets=True)
    assert read_sums(alone) == read_sums(count(rows, 2, user=None))


@pytest.mark.parametrize("few", [2**16, -1], ids=["few", "many"])
@pytest.mark.parametrize("column", ["who", "term", "spent", "hours"])
def test_rows_with_a_problem_are_refused(
    column: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row that lacks a value, also of a label that the bound cuts off."""
    monkeypatch.setattr(FEW_ROWS, few)
    rows = rows_of(1).astype({"who": "Int64", "term": "string", "hours": "Int64"})
    rows.loc[7, column] = None
    with pytest.raises(dh.DataError, match=f"column '{column}' has rows without a "):
        count(rows, max_labels=1, keep_sets=True)


def test_no_rows_have_no_sums() -> None:
    held = count(
        rows_of(1)[:0].astype({"who": int, "term": "string"}), max_labels=8, keep_sets=True
    )
    assert held.sets is not None
    assert read_cut(held.sets, 3) == read_sums(held) == {}
    assert len(STRONG.release(count(rows_of(1)[:3], max_labels=50, keep_sets=True)).value) >= 0


def test_huge_sums_are_clamped_and_do_not_wrap() -> None:
    most, ones = 2**62 - 1, np.ones(2, np.int64)
    labels = count(rows_of(1), max_labels=8, keep_sets=True).sets
    assert labels is not None
    for sign in (-1, 1):
        huge = sign * np.full(2, most)
        held = replace(
            labels,
            labels=labels.labels[:1],
            starts=np.array([0, 1, 2]),
            members=np.zeros(2, np.int64),
            places=ones,
            singles=ones[:1],
            totals=(huge,),
            totals_alone=(huge[:1],),
        )
        assert read_cut(held, 1) == {"a": [3, sign * most]}


@pytest.mark.parametrize(("share", "cap"), [("1/2", 8), ("1/10", 8), ("0.93", 8), ("1/3", 3)])
def test_a_user_costs_the_guarantee_with_sums(
    share: str, cap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a user with all labels and totals beyond the bounds, whether the cap cuts labels or not.

    The sums of the others are about 0; the draws of the look and the counts are those of the
    mechanism.
    """
    most = 8
    mechanism = dh.AutoThreshold(
        epsilon=2, delta="1e-6", max_labels=most, sums=SUMS, sums_share=share
    )
    monkeypatch.setattr(dh.AutoThreshold, "choose", lambda self, users, sums: cap)
    others = pd.DataFrame(
        [(user, label, 3, 12) for user, label in enumerate("abcdefgh" * 60)],
        columns=["who", "term", "spent", "hours"],
    )
    one = pd.DataFrame({"who": -1, "term": [*"abcdefgh"], "spent": 99, "hours": 99})
    data = [
        count(each, max_labels=most, keep_sets=True) for each in (pd.concat([others, one]), others)
    ]
    fine = grid(mechanism.division.count_scale(cap))
    told = {4: lambda held: fine * np.array(count_cut(held.sets, cap)["count"])}
    for pair in (data, data[::-1]):
        _, rho = loss_of_neighbours(lambda held: mechanism.release(held).value, *pair, told=told)
        assert rho <= mechanism.guarantee.rho
        assert rho > Fraction(99, 100) * mechanism.guarantee.rho


def test_no_cap_has_sums_that_cost_more_than_their_share() -> None:
    mechanism = dh.AutoThreshold(
        epsilon="1/3", delta="1e-6", max_labels=1000, sums=SUMS, sums_share="0.3"
    )
    rest = (1 - mechanism.look) * mechanism.guarantee.rho
    for cap in mechanism.caps:
        summed, scale = mechanism._sums_at(cap), mechanism.division.count_scale(cap)
        assert summed is not None
        reaches = [clamp.reach(counts_users=True) for clamp in SUMS.values()]
        square = sum(
            (reach / noise.scale) ** 2 for reach, noise in zip(reaches, summed.noises, strict=True)
        )
        assert cap * (1 / scale**2 + square) / 2 <= rest
        assert mechanism.at(cap).sum_answers["spent"].noise == summed.noises[0]


def test_sums_are_released_with_the_noise_of_the_cap() -> None:
    rows = rows_of(3, 400)
    counts = count(rows, max_labels=50, keep_sets=True)
    release = STRONG.release(counts)
    chosen = STRONG.chosen(release)
    table, clamp = release.value, SUMS["hours"]
    totals = rows.groupby(["who", "term"])["hours"].sum().clip(0, 24).groupby("term")
    assert chosen.max_labels >= 8
    assert table.sums == ["spent", "hours"]
    for label in table.labels:
        assert table.sum(label, of="hours").value == pytest.approx(totals.sum()[label], abs=1)
        mean = table.mean(label, of="hours")
        assert mean.low <= totals.mean()[label] <= mean.high
    assert table._answers is not None
    assert table._answers.sum_answers["hours"].noise.clamp == clamp


def test_releases_with_sums_are_saved(tmp_path: Path) -> None:
    release = STRONG.release(count(rows_of(3, 400), max_labels=50, keep_sets=True))
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded.mechanism == STRONG
    assert loaded.value == release.value
    assert loaded.value.sum("a", of="spent") == release.value.sum("a", of="spent")


def test_data_must_be_summed_as_the_mechanism_sums() -> None:
    rows = rows_of(3)
    wider = {**SUMS, "hours": dh.Clamp(0, 48, 1)}
    for sums in (None, wider):
        held = count(rows, max_labels=50, keep_sets=True, sums=sums)
        with pytest.raises(dh.BoundsError, match="needs data with the same sums"):
            STRONG.release(held)
    alone = dh.AutoThreshold(epsilon=20, delta="1e-6", max_labels=50)
    assert alone.release(count(rows, max_labels=50, keep_sets=True)).value.sums == []


def test_sums_that_cannot_be_sampled_are_refused() -> None:
    with pytest.raises(dh.ParameterError, match="cannot be sampled"):
        dh.AutoThreshold(
            epsilon="1e-6", delta="1e-6", max_labels=1000, sums={"v": dh.Clamp(0, 2**40, 1)}
        )


def test_the_command_sums_with_a_cap_that_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows_of(3, 400).to_csv(tmp_path / "rows.csv", index=False)
    words = f"labels {tmp_path / 'rows.csv'} --label term --user who --epsilon 90 --delta 1e-6"
    words += " --max-labels auto --sum hours=0:24:1 --sums-share 0.3"
    assert run(*words.split(), "--dry-run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "where a user counts for 1,000 labels; less where fewer are found" in said
    assert run(*words.split(), "--output", str(tmp_path / "r.json")) == 0
    assert run("show", str(tmp_path / "r.json")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Error of sums" in said
    assert "1,000 labels; less" not in said
    release = dh.Release.load(tmp_path / "r.json")
    assert isinstance(release.mechanism, dh.AutoThreshold)
    assert release.mechanism.sums_share == Fraction(3, 10)
    assert release.value.mean("a", of="hours").value is not None


def test_an_audit_takes_a_cap_that_is_found_with_sums() -> None:
    mechanism = dh.AutoThreshold(epsilon=1, delta="0.01", max_labels=2, sums=SUMS)
    result = dh.audit(mechanism, delta="0.02", seconds=2, layers=("statistical",))
    assert not result.refuted
    assert result.samples > 0
