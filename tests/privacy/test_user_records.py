"""Users by how many records they have: `docs/understand/proofs/bounding.md`, Lemma 12."""

import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.data.cells import make_cells
from dphist.document.totals import state_releases
from dphist.errors import ColumnError, DataError, ParameterError, ReleaseFileError
from dphist.privacy.conversion import pure_to_rho
from dphist.release.user_records import read_user_sizes
from dphist.report import make_json, report_html, summary_text
from tests.support.mechanisms.cases import signed

MOST = 4
ENGINES: dict[str, Any] = {
    "pandas": lambda rows: rows,
    "polars": lambda rows: pl.from_pandas(rows).lazy(),
    "arrow": lambda rows: pa.Table.from_pandas(rows),
    "duckdb": lambda rows: duckdb.connect().from_df(rows),
}


def counts_of(rows: list[tuple[str, int]], engine: str = "arrow", **more: Any) -> list[int]:
    table = pd.DataFrame(
        {
            "who": pd.Series([who for who, _ in rows], dtype="str"),
            "n": pd.Series([n for _, n in rows], dtype="int64"),
        }
    )
    found: list[int] = dh.count_user_records(
        ENGINES[engine](table), user="who", most=MOST, **more
    ).counts.tolist()
    return found


def by_hand(rows: list[tuple[str, int]], weighted: bool, cap: int | None) -> list[int]:
    sizes = Counter[str]()
    for who, n in rows:
        sizes[who] += n if weighted else 1
    cells = make_cells(MOST, cap)
    found = [0] * len(cells)
    for size in sizes.values():
        if size:
            found[int(np.searchsorted(cells, size, side="right")) - 1] += 1
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_user_changes_one_cell_by_one(engine: str) -> None:
    """Against plain Python, and each user taken out, whatever the others have."""
    tables: list[list[tuple[str, int]]] = [
        [*itertools.chain.from_iterable([(f"u{i}", n)] * n for i, n in enumerate(sizes))]
        for sizes in itertools.combinations_with_replacement(range(6), 3)
    ]
    for place, rows in enumerate(tables[::7] if engine != "arrow" else tables):
        weighted = place % 2 == 1
        more: dict[str, Any] = {"count": "n"} if weighted else {}
        cap = 2 if place % 3 == 0 else None
        whole = counts_of(rows, engine, max_records=cap, **more)
        assert whole == by_hand(rows, weighted, cap)
        for user in {who for who, _ in rows}:
            rest = counts_of(
                [row for row in rows if row[0] != user], engine, max_records=cap, **more
            )
            changes = np.subtract(whole, rest)
            assert changes.sum() == 1
            assert np.abs(changes).sum() == 1


def test_users_are_counted_before_any_is_bounded(tmp_path: Path) -> None:
    rows = pd.DataFrame({"who": ["a"] * 700 + ["b"] * 3 + ["c"], "n": 1})
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    for frame in (rows, str(tmp_path / "rows.parquet")):
        users = dh.count_user_records(frame, user="who", most=1000, max_records=2)
        ends, counts = users.axes[0].edges, users.counts
        assert {ends[at]: counts[at] for at in np.flatnonzero(counts)} == {1: 1, 3: 1, 512: 1}
        assert (users.sensitivity, str(users.unit), users.counts_users) == (1, "one user", True)
    # A user whose counts add up to more than any count is in the last cell, without an error.
    assert counts_of([("a", 2**61)] * 3, count="n") == [0, 0, 0, 1]
    assert counts_of([("a", 0)], count="n") == [0, 0, 0, 0]
    assert counts_of([]) == [0, 0, 0, 0]


ROWS = pd.DataFrame(
    {
        "who": np.repeat(np.arange(3000), np.random.default_rng(3).zipf(2.0, 3000).clip(1, 400)),
    }
)
ROWS["age"] = np.arange(len(ROWS)) % 60
BINS: dict[str, Any] = {"column": "age", "start": 0, "stop": 60, "width": 1, "user": "who"}


def tree(**given: Any) -> dh.AdaptiveTree:
    return dh.AdaptiveTree(bins=60, **given)


def users_of(law: dict[str, Any], **more: Any) -> dh.Release:
    users = dh.count_user_records(ROWS, user="who", **more)
    return dh.LeafCounts(**law, bins=users.bins).release(users)


@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_each_bound_costs_the_same(name: Any) -> None:
    """Whatever the first release shows, the second one costs what was set aside for it."""
    users = users_of({name: "0.5"})
    for mechanism in (
        tree(**{name: "1.5"}),
        *([dh.AdaptiveScan(epsilon="1.5")] if name == "epsilon" else []),
    ):
        choice = dh.choose_max_records(users, mechanism)
        assert getattr(choice.mechanism.guarantee, name) == getattr(mechanism.guarantee, name)
        assert choice.mechanism.sensitivity == choice.max_records
        assert choice.max_records in [each.max_records for each in choice.tried]
        assert choice == dh.choose_max_records(users, mechanism)  # of noisy numbers alone
        best = min(each.error for each in choice.tried)
        assert {each.max_records: each.error for each in choice.tried}[choice.max_records] == best


@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_the_guarantee_is_that_of_both(name: Any) -> None:
    users = users_of({name: "0.25"}, unit="patient")
    counts = dh.bin_counts(ROWS, **BINS, max_records=5, unit="patient")
    alone = tree(**{name: "0.5"}, sensitivity=5).release(counts)
    release = alone.with_users(users)
    again = dh.Release.from_json(release.to_json())
    for each in (release, again):
        assert float(getattr(each.guarantee, name)) == 0.75
        assert str(each.guarantee.unit) == "one patient"
        assert [float(getattr(part.guarantee, name)) for part in each.parts] == [0.25, 0.5]
        assert float(make_json(each)["guarantee"][name]) == 0.75
        assert make_json(each)["guarantees"]["users_by_records"][name] == "0.25"
        assert "0.75" in summary_text(each)
        assert float(getattr(state_releases([each]).guarantee, name)) == 0.75
    assert again == release
    assert alone.parts == (alone,)
    content = json.loads(release.to_json())
    content["guarantee"] = content["guarantee_of_counts"]
    for damage in ({}, {"format_version": 1}, {"users": None}):
        with pytest.raises(ReleaseFileError):
            dh.Release.from_json(signed({**content, **damage}))


def test_the_rho_of_a_found_bound_is_that_of_every_bound() -> None:
    """Noise of a small bound costs less rho than that of a large one, and the bound is found."""
    users = users_of({"epsilon": "0.05"})
    rhos = set()
    for bound in (1, 5):
        counts = dh.bin_counts(ROWS, **BINS, max_records=bound)
        release = tree(epsilon="0.95", sensitivity=bound).release(counts).with_users(users)
        again = dh.Release.from_json(release.to_json())
        rhos |= {each.guarantee.rho for each in (release, again)}
        assert state_releases([release]).guarantee.rho == release.guarantee.rho
        assert release.parts[1].guarantee.rho is None
    assert rhos == {pure_to_rho(Fraction("0.05")) + pure_to_rho(Fraction("0.95"))}


def test_releases_that_are_not_joined_count_the_rho_of_every_bound() -> None:
    users = users_of({"epsilon": "0.05"})
    counts = dh.bin_counts(ROWS, **BINS, max_records=5)
    release = tree(epsilon="0.95", sensitivity=5).release(counts)
    joined = release.with_users(users).guarantee.rho
    assert state_releases([users, release]).guarantee.rho == joined
    assert state_releases([release.with_users(users)]).guarantee.rho == joined
    assert state_releases([release]).guarantee.rho < pure_to_rho(Fraction("0.95"))


def test_a_release_that_carries_one_for_tests_is_for_tests() -> None:
    users = dh.count_user_records(ROWS, user="who")
    look = dh.LeafCounts(epsilon=1, bins=users.bins).release(
        users, source=random.Random(1).randbytes
    )
    counts = dh.bin_counts(ROWS, **BINS, max_records=5)
    release = tree(epsilon=1, sensitivity=5).release(counts)
    assert (look.for_tests, release.for_tests) == (True, False)
    both = release.with_users(look)
    for each in (both, dh.Release.from_json(both.to_json())):
        assert each.for_tests
        assert "Protects nobody" in summary_text(each) + report_html(each)


def test_what_a_release_was_calibrated_to_is_not_what_both_cost() -> None:
    counts = dh.bin_counts(ROWS, **BINS, max_records=5)
    made = dh.calibrate(dh.AdaptiveTree, epsilon=1, delta="1e-6", bins=60, sensitivity=5)
    release = made.release(counts).with_users(users_of({"epsilon": 1}))
    assert release.budget is None
    asked = dh.plan("ranges", bins=60, total=100, epsilon=1, criteria=["epsilon <= 1"])
    for each, holds in ((release, False), (made.release(counts), True)):
        assert [verdict.holds for verdict in dh.check(each, asked)] == [holds]
    assert made.release(counts).budget is not None


def test_of_users_it_is_said_that_nobody_was_bounded() -> None:
    users = users_of({"epsilon": 1}, unit="patient")
    assert users.guarantee.unit.bounds == ()
    page = " ".join(report_html(users).split())
    assert "Each patient is counted once, with all rows: nothing was bounded." in page
    assert dh.Release.from_json(users.to_json()) == users
    rows = dh.count_user_records(ROWS, user="who")
    for wrong in ({"sensitivity": 2}, {"null_users": "separate"}):
        with pytest.raises(ParameterError, match="counts_users"):
            replace(rows, **wrong)
    for mechanism in (dh.HierarchicalTree, dh.AdaptiveTree):
        with pytest.raises(ParameterError, match="noise of its own"):
            dh.share_cut(mechanism(epsilon=1, bins=rows.bins).release(rows), 5)


def test_every_surface_says_what_bounding_took() -> None:
    sizes = ROWS.groupby("who").size().to_numpy()
    true = 1 - np.minimum(sizes, 5).sum() / sizes.sum()
    users = users_of({"epsilon": 100}, max_records=5, unit="patient")
    bins = dh.bin_counts(ROWS, **BINS, max_records=5, unit="patient")
    labels = dh.Profile.from_table(ROWS, label="age", user="who", max_records=5, unit="patient")
    for made in (
        dh.AdaptiveTree(epsilon=1, bins=60, sensitivity=5).release(bins),
        dh.AdaptiveScan(epsilon=1, sensitivity=5).release(labels),
    ):
        for each in (summary_text(made), report_html(made)):
            assert "Nothing is known of how much bounding took" in " ".join(each.split())
        release = made.with_users(users)
        share = dh.share_cut(release)
        assert share.low <= true <= share.high
        assert share.high - share.low < 0.15
        assert share.value == pytest.approx(true, abs=0.03)
        said = f"too low on average (95 % interval {100 * share.low:g} to {100 * share.high:g} %)"
        because = "because each patient counts for at most 5 records"
        for text in (summary_text(release), report_html(release)):
            assert said in " ".join(text.split())
            assert because in " ".join(text.split())
        told = make_json(release)["bounding"]
        assert told["max_records"] == 5
        assert told["share_of_records_dropped"]["5"] == [share.value, share.low, share.high]
        head, first, *_ = str(release.to_csv()).split("\n")
        assert head.endswith(",share_cut,share_cut_low,share_cut_high")
        assert first.endswith(f",{share.low:.4g},{share.high:.4g}")
    assert "atients by number of records" in summary_text(users)
    assert "Nothing is known" not in summary_text(users)


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("epsilon", ["0.05", "1"])
def test_the_share_is_in_its_interval(epsilon: str) -> None:
    sizes = ROWS.groupby("who").size().to_numpy()
    users = dh.count_user_records(ROWS, user="who")
    mechanism, held, times = dh.LeafCounts(epsilon=epsilon, bins=users.bins), 0, 60
    for _ in range(times):
        share = dh.share_cut(mechanism.release(users), 10)
        held += share.low <= 1 - np.minimum(sizes, 10).sum() / sizes.sum() <= share.high
    assert held >= 0.93 * times


def test_few_users_far_above_all_others_are_believed() -> None:
    rows = pd.DataFrame({"who": [*range(500), *[*range(5)] * 20], "age": [*range(60)] * 10})
    counts = dh.count_user_records(rows, user="who", most=100)
    users = dh.LeafCounts(epsilon=9, bins=counts.bins).release(counts)
    assert dh.choose_max_records(users, dh.AdaptiveTree(epsilon=9, bins=60)).max_records > 10


def test_wrong_requests_are_refused() -> None:
    users = users_of({"epsilon": 1})
    counts = dh.bin_counts(ROWS, **BINS, max_records=5)
    release = dh.AdaptiveTree(epsilon=1, bins=60, sensitivity=5).release(counts)
    plain = dh.AdaptiveTree(epsilon=1, bins=60).release(
        dh.bin_counts(ROWS, **BINS | {"user": None})
    )
    lacking = dh.bin_counts(ROWS, **BINS, max_records=5, null_users="separate")
    separate = dh.AdaptiveTree(epsilon=1, bins=60, sensitivity=5).release(lacking)
    wrong: list[tuple[Any, str]] = [
        (lambda: dh.count_user_records(ROWS, user="who", most=1), "most"),
        (lambda: dh.count_user_records(ROWS, user="who", most=5, max_records=5), "most"),
        (lambda: dh.count_user_records(ROWS, user=None), "user"),
        (lambda: dh.share_cut(users), "max_records"),
        (lambda: dh.share_cut(users, 1000), "max_records"),
        (lambda: dh.share_cut(release), "release"),
        (lambda: dh.choose_max_records(release, dh.AdaptiveScan(epsilon=1)), "release"),
        (lambda: dh.choose_max_records(users, dh.TopLabels), "mechanism"),
        (lambda: release.with_users(release), "users"),
        (lambda: plain.with_users(users), "release"),
        (lambda: release.with_users(users_of({"epsilon": 1}, unit="patient")), "users"),
        (lambda: release.with_users(users_of({"epsilon": 1}, most=3)), "users"),
        (lambda: separate.with_users(users), "users"),
        (lambda: release.with_users(users).with_users(users), "release"),
    ]
    for call, name in wrong:
        with pytest.raises(ParameterError, match=name):
            call()
    with pytest.raises(ColumnError, match="'patient'"):
        dh.count_user_records(ROWS, user="patient")
    with pytest.raises(DataError, match="rows without a user"):
        dh.count_user_records(pd.DataFrame({"who": ["a", None]}), user="who")


@pytest.mark.usefixtures("repeatable")
def test_a_larger_bound_is_not_said_to_drop_more() -> None:
    sizes = np.random.default_rng(1).zipf(1.8, 3000).clip(max=300)
    rows = pd.DataFrame({"who": np.repeat(np.arange(3000), sizes)})
    counts = dh.count_user_records(rows, user="who")
    for _ in range(10):
        users = dh.LeafCounts(epsilon="0.4", bins=counts.bins).release(counts)
        shares = read_user_sizes(users, 20).shares_cut((5, 10, 50, 100))
        values = [share.value for share in shares.values()]
        assert list(shares) == [5, 10, 20, 50, 100]
        assert values == sorted(values, reverse=True)
        assert all(share.low <= share.value <= share.high for share in shares.values())
        assert shares[20] == dh.share_cut(users, 20)
