"""The benchmark of error bars: what is asked, what is counted as held, made shapes, the tables."""

import numpy as np
import pytest
from benchmarks.ranges import coverage as ranges_coverage
from benchmarks.ranges.coverage import asked, held
from benchmarks.ranges.data import SIDE
from benchmarks.ranges.made import BINS, made_shapes


class Known:
    """Bars that are given: the same for every query."""

    def __init__(self, low, high, count, error) -> None:
        self.low, self.high, self.middle, self.width = low, high, count, error

    def count_bins(self, lo, hi):
        return np.full(np.shape(lo if not isinstance(lo, tuple) else lo[0]), self.middle)

    def error_bins(self, lo, hi):
        return self.count_bins(lo, hi) * 0 + self.width

    def interval_bins(self, lo, hi):
        return self.count_bins(lo, hi) * 0 + self.low, self.count_bins(lo, hi) * 0 + self.high


def test_a_bar_holds_a_count_between_its_ends_or_at_one() -> None:
    counts = np.array([1, 2, 3, 4])
    lo, hi = np.arange(4)[None], np.arange(1, 5)[None]
    interval, errors = held(counts, Known(2.0, 3.0, 1.0, 1.0), lo, hi)  # type: ignore[arg-type]
    assert interval == (0.5, 0.5)  # 2 and 3; half of its length
    assert errors == (0.5, pytest.approx(1.96))  # 1 and 2 lie from -0.96 to 2.96


@pytest.mark.parametrize("shape", [(50,), (7, 9)])
def test_queries_are_of_their_kind(shape) -> None:
    counts = np.zeros(shape, np.int64)
    counts.ravel()[[3, 17]] = 5
    found = asked(counts, np.random.default_rng(0), 200)
    assert sorted(found) == ["boxes", "occupied", "prefixes"]
    for lo, hi in found.values():
        assert (lo >= 0).all()
        assert (lo < hi).all()
        assert (hi <= np.array(shape)[:, None]).all()
    assert (found["prefixes"][0] == 0).all()
    assert found["prefixes"][1].shape == (len(shape), 200)
    places, ends = found["occupied"]
    assert (ends == places + 1).all()
    assert np.ravel_multi_index(tuple(places), shape).tolist() == [3, 17]
    assert "occupied" not in asked(0 * counts, np.random.default_rng(0), 9)


@pytest.mark.parametrize("axes", [1, 2])
def test_made_shapes_are_the_same_each_time_and_can_be_resampled(axes) -> None:
    shapes, again = made_shapes(axes), made_shapes(axes)
    names = [shape.name for shape in shapes]
    assert len(set(names)) == len(names) >= 14
    for shape, same in zip(shapes, again, strict=True):
        assert shape.digest == same.digest
        assert shape.counts.shape == ((BINS,) if axes == 1 else (SIDE, SIDE))
        drawn = shape.at("1000", 0)
        assert drawn.sum() == (0 if shape.name.startswith("nothing") else 1000)


def test_the_command_prints_both_tables(tmp_path, monkeypatch, capsys) -> None:
    place = tmp_path / "ranges"
    place.mkdir()
    (place / "FEW.csv").write_text("count\n" + "\n".join(map(str, range(40))) + "\n")
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path))
    few = ["--axes", "1", "--records", "1000", "--queries", "20"]
    made = ["--shape", "FEW", "bell", "--mechanism", "AdaptiveTree", "LeafCounts"]
    ranges_coverage.main([*few, "--epsilon", "1", "--runs", "2", *made])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| ε = 1 | 10^3 | random boxes | ") for line in lines) == 2
    assert sum(line.startswith("| FEW | ") for line in lines) == 2
    assert (
        "AdaptiveTree, 1 axis, 2 runs: mean over 2 shapes (lowest ± its SE, to highest), in %"
        in lines
    )
    ranges_coverage.main([*few, "--rho", "0.5", "--runs", "1", "--shape", "FEW"])
    assert "| ρ = 0.5 | 10^3 | prefixes | " in capsys.readouterr().out
