"""Mechanisms for groups, compared on data that may be looked at."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.cli import main
from dphist.data.open_data import open_data
from dphist.errors import ParameterError
from dphist.groups.comparing.case import GroupsCase, Quantiles
from dphist.groups.comparing.published import google_quantiles, smith_quantiles

GROUPS = {"city": ["Bern", "Uri", "Zug"]}
COUNTS = np.array([[0, 60, 30, 10, 0], [20, 20, 20, 20, 20], [0, 0, 1, 0, 2]])


@pytest.fixture
def data() -> dh.GroupedCounts:
    return dh.GroupedCounts.from_counts(COUNTS, groups=GROUPS, max_rows=2)


def errors(data: dh.GroupedCounts, value: Any) -> list[float | None]:
    return list(GroupsCase(data, open_data(data), None)._errors(value))


@dataclass
class Exact:
    """The counts themselves, in `away` bins further on."""

    epsilon: Any
    away: int = 0

    def release(self, data: dh.GroupedCounts) -> Any:
        return np.roll(data.counts_by_group(), self.away, axis=1)


def test_exact_groups_have_no_error(data: dh.GroupedCounts) -> None:
    assert errors(data, Exact(1).release(data)) == [0, 0]
    axis = dh.Axis.from_edges([0, 10, 20, 50, 60, 90])
    mechanism = dh.GroupedHistogram(epsilon=400, groups=GROUPS, bins=5, max_rows=2)
    released = mechanism.release(data).value.with_axis(axis)  # edges do not matter
    assert errors(data, released) == pytest.approx([0, 0], abs=1e-6)


def test_errors_are_those_of_their_definition(data: dh.GroupedCounts) -> None:
    """Quantiles one bin off: by hand, for the two groups with 50 records or more."""
    ranks, squares = errors(data, Exact(1, away=1).release(data))
    below = np.cumsum(COUNTS, axis=1)
    away = np.cumsum(np.roll(COUNTS, 1, axis=1), axis=1) - below
    assert squares == np.square(away).mean()
    # Bern: 50 % is in bin 2 (0 to 60 %), released in bin 3; 90 % is at its end, released in 4.
    # Uri: all bins are alike, so that nothing moves.
    assert ranks is not None
    places = np.array([[2.0, 3.0], [2.5, 4.5], [0, 0]])
    assert errors(data, Quantiles(places)) == [0, None]
    places[0] = [3.5, 0.5]  # 10 % above the median's bin, and 90 % above what is below bin 1
    assert errors(data, Quantiles(places))[0] == pytest.approx((40 + 90 + 0 + 0) / 4)


def test_groups_of_too_few_records_have_no_ranks() -> None:
    small = dh.GroupedCounts.from_counts([[0, 3]] * 3, groups=GROUPS)
    assert errors(small, Quantiles(np.ones((3, 2)))) == [None, None]


def test_mechanisms_are_compared(data: dh.GroupedCounts) -> None:
    found = dh.compare({"mine": Exact}, data, ["1"], published=True, most=2).to_pandas()
    assert {*found.mechanism} == {
        "mine", "GroupedHistogram", "HierarchicalTree in each group", "LeafCounts in each group",
        "exponential mechanism", "bounded quantiles",
    }  # fmt: skip
    assert (found[found.mechanism == "mine"].error == 0).all()
    alone = found[found.mechanism == "exponential mechanism"]
    assert [*alone.measure] == ["rank error of quantiles"]


def test_a_delta_is_for_gaussian_noise(data: dh.GroupedCounts) -> None:
    case = GroupsCase(data, open_data(data), "1e-6")
    made = case.contender("GroupedHistogram", dh.GroupedHistogram).make("1", None)
    assert (made.delta, made.max_rows) == (dh.ApproxDP(1, "1e-6").delta, 2)
    assert (
        GroupsCase(data, open_data(data), None)
        .contender("g", dh.GroupedHistogram)
        .make(1, None)
        .delta
        is None
    )


@pytest.mark.parametrize("estimating", [smith_quantiles, google_quantiles])
def test_published_quantiles_are_near_the_truth_and_have_noise(estimating: Any) -> None:
    """At a large epsilon exact; with a hundredth of it not: else the noise is forgotten."""
    draw = np.random.default_rng(1)
    counts = np.array([0, 400, 60, 60, 60, 420, 200])
    near = [estimating(counts, 50.0, (0.5, 0.9), draw) for _ in range(50)]
    assert np.abs(np.array(near) - [5.05, 6.4]).max() <= 1
    wide = [estimating(counts, 0.005, (0.5, 0.9), draw) for _ in range(50)]
    assert np.std(wide, axis=0).min() > 10 * np.std(near, axis=0).min()


def test_the_noise_of_the_exponential_mechanism_is_that_of_its_score() -> None:
    """The chance of an edge is as e^(epsilon / 2 / 1 times its score), of two shares of 1/2."""
    draw, counts = np.random.default_rng(2), np.array([4, 4])
    found = [smith_quantiles(counts, 1.0, (0.5, 0.5), draw)[0] for _ in range(20_000)]
    chance = np.exp(0.5 * np.array([-4.0, 0.0, -4.0]))
    expected = chance / chance.sum()
    assert np.bincount(np.array(found, int)) / 20_000 == pytest.approx(expected, abs=0.012)


def test_what_is_no_value_of_groups_is_refused(data: dh.GroupedCounts) -> None:
    value = dh.GroupedHistogram(epsilon=1, groups=GROUPS, bins=5, max_rows=2).release(data).value
    less = replace(value, histograms=value.histograms[:2])
    for wrong in ([1, 2], COUNTS[:2], less, [["a"] * 5] * 3, None):
        with pytest.raises(ParameterError, match="must release what GroupedHistogram does"):
            errors(data, wrong)
    found = dh.GroupedCounts.from_counts([[0, 3]] * 3, groups=GROUPS)
    assert (
        GroupsCase(found, open_data(found), None).digest
        != GroupsCase(data, open_data(data), None).digest
    )


ROWS = "city,wait\n" + "".join(f"{'Bern' if row % 3 else 'Uri'},{row % 40}\n" for row in range(300))


def test_the_command_compares_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("waits.csv").write_text(ROWS)
    asked = ["compare", "--by-group", "waits.csv", "--mechanism", "GroupedHistogram", "--only"]
    asked += ["--epsilon", "1", "--seconds", "2"]
    assert main([*asked, "--group", "city=Bern,Uri", "--axis", "wait=0:40:5"]) == 0
    said = capsys.readouterr().out
    assert "Rank error of quantiles, % of a group" in said
    assert "300" in said
    assert main([*asked, "--axis", "wait=0:40:5"]) == 2
    assert "--by-group needs --group" in capsys.readouterr().err
    assert main([*asked, "--group", "city=Bern,Uri", "--axis", "wait=1,2"]) == 2
    assert "--axis must name the column that is binned" in capsys.readouterr().err
    assert main([*asked, "--group", "city=discover:0.2", "--axis", "wait=0:40:5"]) == 2
    assert "groups must be listed" in capsys.readouterr().err
