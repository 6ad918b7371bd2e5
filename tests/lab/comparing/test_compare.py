"""dh.compare: every kind, own mechanisms, fresh noise, equal data, and what it says of privacy."""

import functools
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dphist as dh
from dphist.lab.comparing.results import NOTICE
from dphist.ranges.comparing.case import ForComparison
from dphist.ranges.comparing.published.hb import hb
from tests.support.histograms import without_noise

PROFILE = dh.Profile.from_counts([40, 12, 9, 7, 4, 2, 2, 1, 1, 1, 1])
LINE = np.array([5, 0, 0, 900, 30, 30, 2, 0] * 4)


@dataclass(frozen=True)
class Truth:
    """Releases the data themselves, so that every error is 0."""

    epsilon: float
    guarantee = dh.PureDP(1)

    def release(self, data):
        assert self.epsilon > 0
        return without_noise(data)


@dataclass(frozen=True)
class Away:
    """Releases bins that are `far` too large each."""

    epsilon: float
    far: int = 1
    guarantee = dh.PureDP(1)

    def release(self, data):
        return np.asarray(data) + self.far


@dataclass(frozen=True)
class Deep(Truth):
    """Needs a parameter that nobody knows from the data."""

    depth: int


def tea(turns: int = 600) -> list[list[str]]:
    return [["tea"] if turn % 3 else ["milk", "tea"] for turn in range(turns)]


def label_counts() -> dh.LabelCounts:
    labels = [f"label {rank}" for rank in range(40)]
    counts = [1000 // (rank + 1) for rank in range(40)]
    return dh.LabelCounts.from_counts(labels, counts, max_labels=2, max_count=1)


def test_a_mechanism_without_error_is_best_and_others_have_theirs() -> None:
    found = dh.compare([Truth, dh.RankSplit], PROFILE, [1, "1/3"], seconds=10, most=10)
    assert [row.mechanism for row in found] == ["Truth", "RankSplit"] * 2
    assert [row.epsilon for row in found] == [1, 1, Fraction(1, 3), Fraction(1, 3)]
    assert found.rows[0].error == 0
    assert all(row.error > 0 and row.runs == 10 for row in found.rows[1::2])
    assert found.stopped == "all was measured"
    assert not found.left_out


def test_required_parameters_come_from_the_data_and_that_is_said() -> None:
    mechanisms = [dh.SortedCounts, dh.CumulativeCounts, dh.AdaptiveScan]
    found = dh.compare(mechanisms, PROFILE, [50], seconds=20, most=2)
    given = {row.mechanism: row.given for row in found}
    assert given == {
        "SortedCounts": "number of labels",
        "CumulativeCounts": "maximum",
        "AdaptiveScan": "nothing",
    }
    assert all(row.error == 0 for row in found if row.mechanism != "AdaptiveScan")


def test_partial_calls_instances_functions_and_names() -> None:
    mechanisms = {
        "sorted": functools.partial(dh.SortedCounts, inference="sort"),
        "told": dh.RankSplit(epsilon=7, total=PROFILE.total),
        "made": lambda epsilon: dh.RankSplit(epsilon=epsilon),
    }
    found = dh.compare(mechanisms, PROFILE, [1], seconds=10, most=2)
    assert {row.mechanism for row in found} == set(mechanisms)
    by_name = {row.mechanism: row.parameters for row in found}
    assert "inference='sort', labels=11" in by_name["sorted"]
    assert f"total={PROFILE.total}" in by_name["told"]
    alone = dh.compare(functools.partial(dh.SortedCounts, labels=3), PROFILE, 1, most=2)
    assert alone.rows[0].mechanism == "SortedCounts(labels=3)"


@pytest.mark.parametrize(
    ("mechanisms", "said"),
    [
        ([dh.RankSplit, dh.RankSplit], "different names"),
        ([lambda epsilon: None], "must have names"),
        ([3], "classes of mechanisms"),
        ([dict], "parameter epsilon"),
        ([], "at least one"),
        ({"two\nlines": dh.RankSplit}, "text in one line"),
        ([Deep], r"Deep needs depth; give functools\.partial\(Deep, depth=\.\.\.\)"),
    ],
)
def test_what_is_no_mechanism_is_refused(mechanisms, said) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        dh.compare(mechanisms, PROFILE, [1])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"seconds": 0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"target": -1}, "target"),
        ({"most": 1}, "most"),
        ({"epsilons": []}, "epsilons"),
        ({"epsilons": [0]}, "epsilons"),
        ({"delta": 2}, "delta"),
    ],
)
def test_bad_parameters_are_refused(settings, said) -> None:
    with pytest.raises(dh.ParameterError, match=f"^{said}"):
        dh.compare([dh.RankSplit], PROFILE, **{"epsilons": [1], **settings})


@pytest.mark.parametrize("data", [None, 3, "text", [], {"a": 1}, object()])
def test_data_of_no_kind_are_refused(data) -> None:
    with pytest.raises(dh.ParameterError, match=r"^data must"):
        dh.compare([dh.RankSplit], data, [1])


def test_guarded_data_are_refused_before_anything_is_read(tmp_path) -> None:
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=1, unit="one record")
    with pytest.raises(dh.LedgerError, match="guarded by the ledger"):
        dh.compare([dh.RankSplit], ledger.guard(PROFILE), [1])


def test_every_published_mechanism_of_profiles() -> None:
    found = dh.compare([Truth], PROFILE, [1], published=True, seconds=30, most=2)
    assert not found.left_out
    assert len(found.rows) == 10
    assert {"AdaptiveScan", "PrivHist", "RankSplit, n known"} < {r.mechanism for r in found}
    assert {row.guarantee for row in found} == {"pure", "approximate, δ = 1e-09"}


def test_every_published_mechanism_of_ranges_on_a_line_and_a_grid() -> None:
    line = dh.compare([Away], LINE, [1], published=True, seconds=30, most=2)
    assert not line.left_out
    names = {row.mechanism for row in line}
    assert {"HB", "DAWA", "MWEM", "PrivTree", "Privelet", "AdaptiveTree", "H~ binary"} < names
    grid = dh.compare([Away], LINE[:16].reshape(4, 4), [1], published=True, seconds=30, most=2)
    assert not grid.left_out
    assert {row.measure for row in grid} == {"error of rectangles"}
    assert "DAWA" in {row.mechanism for row in grid}
    odd = dh.compare([Away], LINE[:6].reshape(2, 3), [1], published=True, seconds=30, most=2)
    assert not odd.left_out
    assert "DAWA" not in {row.mechanism for row in odd}


def test_errors_of_ranges_are_roots_of_mean_squares() -> None:
    """Bins that are 1 too large make a range of k bins k too large."""
    found = dh.compare([Away], LINE, [1], seconds=5, most=3)
    bins = len(LINE)
    lengths = np.concatenate([np.full(bins + 1 - k, k) for k in range(1, bins + 1)])
    by_measure = {row.measure: row for row in found}
    ranges, prefixes = by_measure["error of ranges"], by_measure["error of prefixes"]
    assert ranges.error == pytest.approx(np.sqrt(np.mean(lengths**2.0)))
    assert prefixes.error == pytest.approx(np.sqrt(np.mean(np.arange(1, bins + 1) ** 2.0)))
    assert ranges.standard_error == 0


def test_binned_counts_keep_their_bound() -> None:
    axis = dh.Axis.from_edges([0, 10, 20, 30], "age")
    outside = {"below": 0, "above": 0, "null": 0}
    counts = dh.BinnedCounts(
        np.array([50, 3, 70]), (axis,), outside, sensitivity=4, unit=dh.PrivacyUnit("user")
    )
    found = dh.compare([dh.LeafCounts], counts, [1], published=True, seconds=20, most=2)
    assert not found.left_out
    assert found.facts["sensitivity"] == "4"
    assert "sensitivity=4" in next(r.parameters for r in found if r.mechanism == "LeafCounts")


@pytest.mark.usefixtures("repeatable")
def test_labels_are_calibrated_to_a_total() -> None:
    asked = [functools.partial(dh.TopLabels, k=3, candidates=10)]
    counts = label_counts()
    with pytest.raises(dh.ParameterError, match="delta must be given"):
        dh.compare(asked, counts, [1])
    found = dh.compare(asked, counts, [5], delta="1e-6", published=True, seconds=30, most=2)
    assert not found.left_out
    labels = {row.mechanism: row.error for row in found.of("labels found")}
    assert labels["TopLabels(k=3, candidates=10)"] == 3
    assert 3 < labels["ThresholdHistogram, gaussian"] <= 40
    totals = {row.mechanism: row.error for row in found.of("total error")}
    assert "TopLabels(k=3, candidates=10)" not in totals
    assert 0 < totals["ThresholdHistogram, gaussian"] < sum(1000 // (r + 1) for r in range(40))


@pytest.mark.usefixtures("repeatable")
def test_counters_of_streams() -> None:
    found = dh.compare([], tea(), [4], delta="1e-6", published=True, seconds=30, most=2)
    assert not found.left_out
    assert len(found.of("total error")) == 3
    assert found.facts == {"events": "600", "labels": "2", "max_labels": "2", "delta": "1e-6"}
    assert all(0 < row.error < 800 for row in found.of("total error"))


def test_noise_is_fresh_and_data_are_the_same_for_all() -> None:
    seen = []

    def watching(epsilon):
        inner = dh.RankSplit(epsilon=epsilon)

        class Watching:
            guarantee = inner.guarantee

            def release(self, data):
                released = inner.release(data)
                seen.append((data, released.value.counts.tolist(), released.for_tests))
                return released

        return Watching()

    profile = dh.Profile.from_counts(range(1, 200))
    dh.compare({"one": watching, "two": watching}, profile, [1], seconds=10, most=3)
    assert len(seen) == 6
    assert all(data is profile for data, _, _ in seen)
    assert len({tuple(counts) for _, counts, _ in seen}) == 6
    assert not any(for_tests for _, _, for_tests in seen)


def test_a_mechanism_cannot_change_the_data_of_others() -> None:
    mine = LINE.copy()

    class Careless:
        def release(self, data):
            data += 1
            return data

    mechanisms = {"careless": lambda epsilon: Careless(), "LeafCounts": dh.LeafCounts}
    found = dh.compare(mechanisms, mine, [50], seconds=5, most=2)
    assert mine.tolist() == LINE.tolist()
    assert [one.mechanism for one in found.left_out] == ["careless"]
    assert "read-only" in found.left_out[0].reason
    assert all(row.error == 0 for row in found)


def test_what_is_for_comparison_only_cannot_become_a_release() -> None:
    made = ForComparison(hb, epsilon=1)
    assert made.estimates(LINE).shape == LINE.shape
    assert not hasattr(made, "release")
    assert not isinstance(made, dh.Mechanism)
    with pytest.raises(dh.ParameterError, match="mechanism must have"):
        dh.register(ForComparison)
    with pytest.raises(dh.ParameterError):
        dh.mechanism_to_json(made)  # type: ignore[arg-type]


def test_it_says_everywhere_that_it_is_not_private(tmp_path) -> None:
    found = dh.compare([Truth], PROFILE, [1], seconds=5, most=2)
    assert NOTICE in " ".join(str(found).split())
    assert NOTICE in found._repr_html_()
    found.to_csv(tmp_path / "found.csv")
    assert NOTICE in (tmp_path / "found.csv").read_text().splitlines()[0]
    found.write_report(tmp_path / "found.html")
    assert NOTICE in (tmp_path / "found.html").read_text()


def test_the_table_in_every_form() -> None:
    found = dh.compare([Truth, dh.RankSplit], PROFILE, [1], seconds=5, most=2)
    table = found.to_arrow()
    assert table.column_names[:4] == ["mechanism", "given", "guarantee", "epsilon"]
    assert len(found.to_pandas()) == len(found.to_polars()) == len(found) == table.num_rows == 2
    assert repr(found) == "Comparison('anonymized', 2 rows)"
    with pytest.raises(dh.ParameterError, match="measure must be one of sorted L1 error"):
        found.of("speed")


def test_a_failing_mechanism_is_left_out_with_its_error() -> None:
    def broken(epsilon):
        raise RuntimeError("no such table")

    class Empty:
        def release(self, data):
            return None

    class Missing:
        def release(self, data):
            return np.full(len(LINE), np.nan)

    lost = dh.compare({"lost": lambda epsilon: Missing()}, LINE, [1], seconds=5, most=2)
    assert lost.left_out[0].reason == "ParameterError: mechanisms must release finite numbers"
    assert not lost.rows
    found = dh.compare(
        {"broken": broken, "empty": lambda epsilon: Empty(), "RankSplit": dh.RankSplit},
        PROFILE, [1], seconds=5, most=2,
    )  # fmt: skip
    assert {one.mechanism: one.reason for one in found.left_out} == {
        "broken": "RuntimeError: no such table",
        "empty": "ParameterError: mechanisms for anonymized histograms must release an "
        "AnonymizedHistogram",
    }
    assert [row.mechanism for row in found] == ["RankSplit"]
    assert "broken          left out at ε = 1: RuntimeError: no such table" in str(found)


def test_progress_says_how_many_cells_are_finished() -> None:
    said: list[str] = []
    dh.compare([Truth, dh.RankSplit], PROFILE, [1], seconds=5, most=2, progress=said.append)
    assert said[-1].startswith("2 of 2 cells finished; ")
    assert "(2 runs, " in said[-1]


def test_settings_are_json(tmp_path: Path) -> None:
    found = dh.compare([Truth], PROFILE, [1], seconds=5, most=2)
    assert json.loads(json.dumps(dict(found.settings)))["kind"] == "anonymized"
