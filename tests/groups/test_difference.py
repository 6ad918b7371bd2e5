"""Differences of two releases of groups: coverage by the noise of both, and what is compared."""

import math
import random
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.groups.difference import compare_releases

GROUPS = {"place": ["full", "empty", "few"]}
BINS = 32
INNER = ["AdaptiveTree", "HierarchicalTree", "LeafCounts"]


def october() -> np.ndarray:
    draw = np.random.default_rng(5)
    return np.stack([draw.poisson(40, BINS), np.zeros(BINS, int), draw.poisson(0.2, BINS)])


def november() -> np.ndarray:
    """The full group moves to higher bins, and the one with few records grows."""
    more = october()
    more[0] = np.roll(more[0], 3) + np.arange(BINS)
    more[2, 16:] += 60
    return more


def release(counts: Any, seed: int = 0, **asked: Any) -> dh.Release:
    given = {"groups": GROUPS, "bins": BINS, "epsilon": 1, **asked}
    return dh.GroupedHistogram(**given).release(counts, random.Random(seed).randbytes)


def find(
    names: dict[str, int], seed: int = 0, column: str = "name", share: str = ".3"
) -> dh.Release:
    """Release groups that are found first: each with a given number of rows in four bins."""
    rows = [(name, row % 4) for name, many in names.items() for row in range(many)]
    counts = dh.GroupedCounts.from_table(
        pd.DataFrame(rows, columns=[column, "fare"]),
        groups={column: dh.DiscoverKeys(share=share)},
        column="fare",
        bins=range(5),
    )
    mechanism = dh.GroupedHistogram(epsilon=3, delta="1e-6", groups=counts.groups, bins=counts.bins)
    return mechanism.release(counts, random.Random(seed).randbytes)


def sums(counts: np.ndarray) -> np.ndarray:
    """Return what is compared: all bins of each group, then its parts."""
    parts = np.stack([part.sum(1) for part in np.split(counts, CUTS, axis=1)], axis=1)
    return np.column_stack([counts.sum(1), parts]).ravel()


CUTS = (np.arange(1, 20) * BINS // 20).tolist()


@pytest.mark.parametrize(
    ("noise", "level"),
    [
        ({"epsilon": 1}, 0.95),
        ({"epsilon": 1}, 0.75),
        ({"epsilon": 4}, 0.95),
        ({"rho": ".05"}, 0.95),
    ],
    ids=str,
)
@pytest.mark.parametrize("inner", INNER)
def test_intervals_hold_the_true_difference(
    inner: str, noise: dict[str, Any], level: float
) -> None:
    """In 30 seeded pairs of releases: a full group, an empty one, and one with few records."""
    truth = sums(november()) - sums(october())
    missed, runs = np.zeros(truth.size), 30
    asked = {"epsilon": None, "inner": inner, **noise}
    for seed in range(runs):
        pair = release(october(), seed, **asked), release(november(), 1000 + seed, **asked)
        (low, high), (low_after, high_after) = compare_releases(*pair).bounds((1 + level) / 2)
        missed += ~((low_after - high <= truth) & (truth <= high_after - low))
    assert missed.mean() <= (1 - level) * runs
    # More has probability below 1e-4 for a row.
    assert missed.max() <= 3 + ((1 - level) + 0.07 + 0.1 * (level < 0.9)) * runs


@pytest.mark.parametrize("noise", [{"epsilon": 1}, {"epsilon": None, "rho": ".05"}], ids=str)
def test_intervals_reach_as_far_as_the_noise_of_a_smaller_error_does(noise: dict[str, Any]) -> None:
    """Not only as far as that of 5 %: rows stand by intervals of a far smaller error."""
    made = release(october() + 900, inner="LeafCounts", **noise)
    (low, high), _ = compare_releases(made, made).bounds(1 - 1e-4)
    errors = made.value["full"].error_bins(0, BINS)
    gaussian = -NormalDist().inv_cdf(1e-4 / 2)
    reach = gaussian if "rho" in noise else math.log(1e4) / math.sqrt(2)
    assert (high - low)[0] == pytest.approx(2 * reach * errors)
    single = made.mechanism.in_each_group.budget.half_width(1 - 1e-4)
    assert ((high - low)[1:21] >= 2 * single).all()


@pytest.mark.parametrize("inner", INNER)
def test_nothing_stands_if_nothing_changed(inner: str) -> None:
    wrong = 0
    for seed in range(20):
        pair = release(october(), seed, inner=inner), release(october(), 99 + seed, inner=inner)
        wrong += bool(dh.difference(*pair).stands.any())
    assert wrong <= 4  # of 20 at 5 %: more has probability below 0.003, and seeds are fixed
    assert not dh.difference(pair[0], pair[0]).stands.any()


def test_groups_and_parts_that_changed_stand() -> None:
    pair = release(october()), release(november(), 1)
    found = dh.difference(*pair)
    rows = found.to_pandas().set_index(["group", "range"])
    assert len(rows) == 3 * 21
    assert rows.index[:3].tolist() == [
        ("full", "all"),
        ("full", "0 to 1"),
        ("full", "1 to 3"),
    ]
    assert rows.stands[[("full", "all"), ("few", "all")]].all()
    assert not rows.stands["empty"].any()
    assert rows.stands["few"].sum() > 5
    assert compare_releases(*pair).tests == 63
    said = " ".join(str(found).split())
    assert "Bonferroni over all 63 counts" in said
    assert "is about 5 %" in said
    assert rows.before["full", "all"] == pair[0].value["full"].count_bins(0, BINS)
    assert ((found.low <= found.change) & (found.change <= found.high)).all()


@pytest.mark.parametrize(("bins", "rows"), [(1, 1), (2, 3), (20, 21), (21, 21)])
def test_parts_of_the_bins_are_a_function_of_their_number(bins: int, rows: int) -> None:
    counts = np.full((3, bins), 50)
    parts = dh.difference(*(release(counts, seed, bins=bins) for seed in (0, 1)))
    assert len(parts) == 3 * rows
    assert parts.places["range"].count("all") == 3


def test_groups_that_one_release_alone_has_are_not_compared() -> None:
    """Other stands for other rows then: its change would say nothing of any group."""
    first = find({"Ada": 300, "Bob": 200, "rare": 2})
    second = find({"Cid": 500, "Ada": 300, "rare": 2}, 1)
    assert first.value.labels == ("Ada", "Bob", "other")
    found = dh.difference(first, second)
    assert {*found.places["group"]} == {"Ada"}
    said = " ".join(str(found).split())
    assert "groups that one release alone has: 2 before, 2 after" in said
    same = dh.difference(first, find({"Ada": 200, "Bob": 200, "rare": 2}, 2))
    assert {*same.places["group"]} == {"Ada", "Bob", "other"}
    assert "one release alone" not in str(same)


def test_groups_that_are_others_are_refused() -> None:
    before = release(october())
    for after, said in (
        (release(october(), groups={"town": GROUPS["place"]}), "same column of groups"),
        (release(october(), groups={"place": ["a", "b", "c"]}), "a group in common"),
        (release(october()[:, :16], bins=16), "same number of bins"),
        (release(october(), max_rows=2), "same unit"),
        (find({"Ada": 300}), "same unit|same column"),
    ):
        with pytest.raises(dh.ParameterError, match=said):
            dh.difference(before, after)
    counts = october()[:, :2].tolist()
    texts = release(counts, groups={"place": ["0", "1", "2"]}, bins=2)
    numbers = release(counts, groups={"place": [0, 1, 2]}, bins=2)
    with pytest.raises(dh.ParameterError, match="a group in common"):
        dh.difference(texts, numbers)


def test_bins_with_other_edges_are_refused() -> None:
    frame = pd.DataFrame({"place": ["full"] * 9, "fare": range(9)})

    def count(bins: Any) -> dh.Release:
        held = dh.GroupedCounts.from_table(frame, groups=GROUPS, column="fare", bins=bins)
        return release(held, bins=held.bins)

    before = count([0, 5, 10])
    with pytest.raises(dh.ParameterError, match="same column and edges"):
        dh.difference(before, count([0, 6, 10]))
    said = " ".join(str(dh.difference(before, before)).split())
    assert "leave out records in no bin, or of no group" in said
    assert "0 to 5" in str(dh.difference(before, before))


def test_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    paths = [str(tmp_path / name) for name in ("october.json", "november.json")]
    release(october()).save(paths[0])
    release(november(), 1).save(paths[1])
    assert main(["diff", *paths, "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "group,range,before,after,change,low,high,stands"
    assert lines[1].startswith("full,all,")
    assert lines[1].endswith(",yes")
    page = tmp_path / "page.html"
    assert main(["diff", *paths, "--output", str(page)]) == 0
    assert "full" in page.read_text(encoding="utf-8")
