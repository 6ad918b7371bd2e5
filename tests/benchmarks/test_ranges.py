"""The benchmark of universal histograms: errors by definition, the baseline, data, commands."""

import csv
import gzip
import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.hay2010 import ranges as hay2010_ranges
from benchmarks.ranges import __main__ as universal
from benchmarks.ranges import speed as universal_speed
from benchmarks.ranges import theorem4
from benchmarks.ranges.contenders import FIXED, LEAST_SQUARES, OURS, Contender, contenders
from benchmarks.ranges.data import OWN, SIDE, Shape, read_shapes
from benchmarks.ranges.journal import Journal
from benchmarks.ranges.measuring import Cell, Effort, Measured, measure
from benchmarks.ranges.tables import Results, print_published, print_ratios
from benchmarks.repeating import TooSlowError

from dphist.lab.comparing.results import number_text
from dphist.ranges.comparing import queries
from dphist.ranges.comparing.published.privelet import (
    compute_weights,
    inverse,
    privelet,
    sensitivity,
    transform,
)
from tests.support.benchmarks.shapes import real_shapes


def made_up(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 50, shape)


# Errors.


def every_range(estimate: np.ndarray, counts: np.ndarray) -> list[float]:
    bins = len(counts)
    return [
        float((estimate[lo:hi] - counts[lo:hi]).sum() ** 2)
        for lo, hi in itertools.combinations(range(bins + 1), 2)
    ]


@pytest.mark.parametrize("bins", [1, 2, 3, 17])
def test_errors_of_all_prefixes_and_ranges(bins) -> None:
    counts, estimate = made_up(bins), made_up(bins, seed=1) - 0.25
    found = queries.compute_squared_errors(counts, estimate)
    assert len(every_range(estimate, counts)) == bins * (bins + 1) // 2
    assert found["ranges"] == pytest.approx(np.mean(every_range(estimate, counts)))
    prefixes = [float((estimate[:hi] - counts[:hi]).sum() ** 2) for hi in range(1, bins + 1)]
    assert found["prefixes"] == pytest.approx(np.mean(prefixes))


def test_errors_of_rectangles() -> None:
    counts, estimate = made_up(12, 7), made_up(12, 7, seed=1) + 0.5
    lo, hi = queries.rectangles((12, 7))
    errors = [
        float((estimate - counts)[a:c, b:d].sum() ** 2)
        for (a, b), (c, d) in zip(lo.tolist(), hi.tolist(), strict=True)
    ]
    assert queries.compute_squared_errors(counts, estimate)["rectangles"] == pytest.approx(
        np.mean(errors)
    )
    assert (lo >= 0).all()
    assert (lo < hi).all()
    assert hi.max(axis=0).tolist() == [12, 7]
    # The mean side of n cells between two uniform ones, both included.
    assert np.mean(hi - lo, axis=0) == pytest.approx([143 / 36 + 1, 48 / 21 + 1], rel=0.05)


class Summed:
    """Answers that are sums of bins after all."""

    def __init__(self, bins: np.ndarray) -> None:
        self.sums = np.append(0, np.cumsum(bins))

    def count_bins(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        return self.sums[hi] - self.sums[lo]


def test_answers_are_measured_as_bins_are() -> None:
    counts, estimate = made_up(30), made_up(30, seed=1)
    of_bins = queries.compute_squared_errors(counts, estimate)
    of_answers = queries.compute_squared_errors(counts, Summed(estimate))
    assert of_answers["prefixes"] == of_bins["prefixes"]
    assert of_answers["ranges"] == pytest.approx(of_bins["ranges"], rel=0.05)
    lo, hi = queries.random_ranges(3)
    assert sorted(set(zip(lo.tolist(), hi.tolist(), strict=True))) == [
        (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
    ]  # fmt: skip
    assert np.bincount(lo * 4 + hi)[[1, 2, 3, 6, 7, 11]].min() > 0.9 * len(lo) / 6


# Privelet.


def test_coefficients_of_an_example() -> None:
    values = np.array([9.0, 3, 6, 2, 8, 4, 5, 7])
    assert transform(values).tolist() == [5.5, -0.5, 1, 0, 3, 2, 2, -1]
    assert compute_weights((8,)).tolist() == [8, 8, 4, 4, 2, 2, 2, 2]


@pytest.mark.parametrize("shape", [(1,), (2,), (16,), (4, 8), (2, 1, 4)])
def test_coefficients_give_the_values_back(shape) -> None:
    values = made_up(*shape).astype(float)
    assert inverse(transform(values)) == pytest.approx(values)


@pytest.mark.parametrize("shape", [(1,), (2,), (16,), (4, 8), (2, 1, 4)])
def test_one_record_changes_weighted_coefficients_by_the_sensitivity(shape) -> None:
    for cell in np.ndindex(shape):
        one = np.zeros(shape)
        one[cell] = 1
        changed = np.abs(compute_weights(shape) * transform(one)).sum()
        assert changed == pytest.approx(sensitivity(shape))
    assert sensitivity(shape) == math.prod(int(math.log2(size)) + 1 for size in shape)


@pytest.mark.parametrize("shape", [(5,), (4096,), (3, 6)])
def test_privelet_without_noise_is_the_counts(shape) -> None:
    counts = made_up(*shape)
    estimate = privelet(counts, 1e15, np.random.default_rng(1))
    assert estimate.shape == shape
    assert estimate == pytest.approx(counts, abs=1e-6)


def noise_of_the_total(shape: tuple[int, ...], runs: int, factor: float = 1) -> float:
    """The mean size of the total's noise, in units of sensitivity / epsilon."""
    generator = np.random.default_rng(2)
    empty = np.zeros(shape, np.int64)
    sums = [privelet(empty, 0.5, generator).sum() * factor for _ in range(runs)]
    return float(np.mean(np.abs(sums))) * 0.5 / sensitivity(shape)


@pytest.mark.verify
@pytest.mark.parametrize("shape", [(8,), (4, 2)])
def test_the_noise_of_privelet_has_its_scale(shape) -> None:
    """The total is that many times the first coefficient, whose noise is Laplace's: mean 1."""
    limit = 6 / math.sqrt(4000)
    assert abs(noise_of_the_total(shape, 4000) - 1) < limit
    for planted in (0.7, 1.3):
        assert abs(noise_of_the_total(shape, 4000, planted) - 1) > limit


# Data.


def test_resampling_has_the_scale_and_the_shape() -> None:
    shape = Shape("made up", np.array([0, 1, 3, 0, 0, 6]))
    assert shape.at(OWN, 3) is shape.counts
    drawn = shape.at("100000", 3)
    assert drawn.dtype == np.int64
    assert drawn.sum() == 100_000
    assert drawn[[0, 3, 4]].tolist() == [0, 0, 0]
    assert drawn[[1, 2, 5]] == pytest.approx([10_000, 30_000, 60_000], rel=0.05)
    assert shape.at("100000", 3).tolist() == drawn.tolist()
    others = [shape.at("100000", 4), Shape("other", shape.counts).at("100000", 3)]
    assert all(other.tolist() != drawn.tolist() for other in others)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder of two small histograms over one axis, 20 and 64 bins, and one over two."""
    place = tmp_path / "data" / "ranges"
    place.mkdir(parents=True)
    monkeypatch.setenv("DPHIST_DATA", str(place.parent))
    for name, bins in (("FEW", 20), ("MORE", 64)):
        lines = ["count", *map(str, made_up(bins) * (np.arange(bins) % 3 == 0))]
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    with gzip.open(place / "PLANE.csv.gz", "wt") as file:
        file.write("row,col,count\n0,0,500\n17,255,20\n255,3,7\n")
    return tmp_path


def test_histograms_are_read(data) -> None:
    few, more = read_shapes(1)
    assert (few.name, few.counts.shape, more.name, more.counts.shape) == (
        "FEW", (20,), "MORE", (64,)
    )  # fmt: skip
    (plane,) = read_shapes(2)
    assert (plane.name, plane.axes, plane.counts.shape) == ("PLANE", 2, (SIDE, SIDE))
    assert plane.counts[[0, 17, 255], [0, 255, 3]].tolist() == [500, 20, 7]
    assert plane.counts.sum() == 527


def test_a_missing_folder_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path / "absent"))
    with pytest.raises(SystemExit, match="DPHIST_DATA"):
        read_shapes(1)


# Cells, journal and tables.


def off_by(error: float) -> Contender:
    return Contender(f"off by {error}", lambda counts, epsilon, seed: counts + error)


def test_both_definitions_of_a_cell() -> None:
    """Two runs whose errors are 1 and 7 a bin: the root of the mean, and the mean of roots."""
    errors = iter([1.0, 7.0])

    def estimate(counts, epsilon, seed):
        return counts + np.array([next(errors)])

    cell = Cell(Shape("one bin", np.array([5])), OWN, "1", Contender("uneven", estimate))
    found = measure(cell, Effort(runs=2))["prefixes"]
    assert (found.runs, found.mse, found.per_run) == (2, 5.0, 4.0)


def test_contenders_are_seeded_and_have_names_of_their_own() -> None:
    shape = Shape("made up", made_up(40))
    for axes in (1, 2):
        names = [one.name for one in contenders(axes)]
        assert len(set(names)) == len(names)
    for one in contenders(1):
        runs = [measure(Cell(shape, OWN, "1", one), Effort(runs=1)) for _ in range(2)]
        assert runs[0]["ranges"].mse == runs[1]["ranges"].mse > 0


def test_a_tree_without_root_has_more_for_each_other_level() -> None:
    """Two levels instead of three: 4 / 9 of the variance, less what the root told."""
    shape = Shape("empty", np.zeros(256, np.int64))
    named = {one.name: one for one in contenders(1)}
    with_root, without = (
        measure(Cell(shape, OWN, "0.1", named[name]), Effort(runs=40))["ranges"].mse
        for name in ("least squares 16-ary", "least squares 16-ary, no root")
    )
    assert 0.6 < without / with_root < 0.9


def test_a_torn_journal_goes_on(tmp_path) -> None:
    path = tmp_path / "cells.csv"
    shape = Shape("one, two", np.array([1, 2]))
    cells = [Cell(shape, OWN, "0.1", off_by(error)) for error in (1, 2)]
    one = Measured(3, 2.5, 2.25, 0.125)
    journal = Journal(path)
    for cell in cells:
        journal.add(cell, Effort(), {"prefixes": one, "ranges": one})
    whole = path.read_text()
    assert Journal(path).get(cells[1], Effort()) == {"prefixes": one, "ranges": one}
    path.write_text(whole[:-30])
    again = Journal(path)
    assert again.get(cells[0], Effort()) == {"prefixes": one, "ranges": one}
    assert again.get(cells[1], Effort()) is None
    again.add(cells[1], Effort(), {"prefixes": one, "ranges": one})
    assert Journal(path).get(cells[1], Effort()) == {"prefixes": one, "ranges": one}
    assert Journal(path).get(cells[0], Effort(runs=99)) is None
    other = Shape(shape.name, np.array([2, 1]))
    assert Journal(path).get(Cell(other, OWN, "0.1", off_by(1)), Effort()) is None


def results() -> Results:
    found = [
        Contender("a", off_by(0).estimate, LEAST_SQUARES, alone=False),
        Contender("b", off_by(0).estimate, LEAST_SQUARES, alone=False),
        Contender(FIXED, off_by(0).estimate),
        Contender(OURS, off_by(0).estimate),
    ]
    values = {"a": (1, 16), "b": (3, 3), FIXED: (2, 0), OURS: (3, 0)}
    errors = {
        (name, shape, workload, "1", OWN): float(value)
        for name, both in values.items()
        for shape, value in zip(("x", "y"), both, strict=True)
        for workload in ("prefixes", "ranges")
    }
    return Results(1, ["x", "y"], [OWN], ["1"], found, errors)


def test_means_are_geometric_and_the_best_has_the_lowest(capsys) -> None:
    place = ("prefixes", "1", OWN)
    made = results()
    assert made.mean("a", place) == pytest.approx(4)
    assert made.mean(OURS, place) == 0
    assert made.best(LEAST_SQUARES, place).name == "b"
    assert made.named(LEAST_SQUARES, place) == "b"
    assert made.named("absent", place) is None
    print_ratios(made)
    printed = capsys.readouterr().out
    assert "| x | 1.50 (" in printed
    assert "| y | 1.00 (" in printed


def test_ours_is_held_against_each_published_mechanism(capsys) -> None:
    """Means over shapes and single shapes at worst, with standard errors of independent runs."""
    made = results()
    for shape, error in (("x", 6.0), ("y", 1.0)):
        for workload in ("prefixes", "ranges"):
            made.errors["HB", shape, workload, "1", OWN] = error
            made.errors[OURS, shape, workload, "1", OWN] = 3.0
            made.doubts["HB", shape, workload, "1", OWN] = 0.3
            made.doubts[OURS, shape, workload, "1", OWN] = 0.4
    both = [Contender(name, off_by(0).estimate) for name in ("HB", OURS)]
    print_published(replace(made, contenders=both))
    printed = capsys.readouterr().out
    # sqrt(1/2 * 3) = 1.22; each shape has a doubt of 1/2, their mean 1 / sqrt(8).
    assert "| HB | 1.22 ± 0.43 (ranges, own) | 3.00 ± 1.50 (y, ranges, own) | 2 of 4 |" in printed
    print_published(made)
    assert capsys.readouterr().out == ""


def test_the_doubt_of_a_mean() -> None:
    """Errors 1 and 3 have the mean 2, the deviation sqrt(2), and so a standard error of 1."""
    assert Measured(2, math.sqrt(5), 2.0, 0.0).doubt == pytest.approx(0.5)
    assert Measured(1, 2.0, 2.0, 0.0).doubt == 0


def test_numbers_are_short() -> None:
    assert [number_text(value) for value in (0.01234, 9.876, 99.96, 123.4, 1234567.0)] == [
        "0.0123", "9.88", "100", "123", "1,234,567"
    ]  # fmt: skip


# What the comparison is for.


def error_of(contender: Contender, scale: str) -> float:
    cells = [Cell(shape, scale, "0.1", contender) for shape in real_shapes()]
    errors = [measure(cell, Effort(runs=4))["ranges"].mse for cell in cells]
    return float(np.exp(np.log(errors).mean()))


@pytest.mark.long(every=2)
@pytest.mark.parametrize(("scale", "at_most"), [("1000", 0.6), ("10000000", 1.0)])
def test_the_adaptive_tree_is_ahead_of_the_fixed_one(scale, at_most) -> None:
    named = {one.name: one for one in contenders(1)}
    assert error_of(named[OURS], scale) < at_most * error_of(named[FIXED], scale)
    assert error_of(named[FIXED], scale) < 0.7 * error_of(named["H- binary"], scale)


def test_a_cell_that_is_too_slow_is_left_out_in_time() -> None:
    def slow(counts, epsilon, seed):
        time.sleep(90)

    cell = Cell(Shape("one bin", np.array([5])), OWN, "1", Contender("slow", slow))
    begun = time.perf_counter()
    with pytest.raises(TooSlowError, match=r"0 of 2 runs ended in 0\.1 s"):
        measure(cell, Effort(seconds=0.1))
    assert time.perf_counter() - begun < 45


# Commands.


def test_files_of_ones_own_are_compared(tmp_path, capsys, monkeypatch) -> None:
    """Also where there is no folder; a grid is padded to a square."""
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path / "absent"))
    (tmp_path / "mine.csv").write_text("count\n5\n0\n900\n30\n")
    (tmp_path / "grid.csv").write_text("row,col,count\n0,4,50\n2,1,7\n")
    files = [tmp_path / "mine.csv", tmp_path / "grid.csv"]
    assert [shape.counts.tolist() for shape in read_shapes(1, files)] == [[5, 0, 900, 30]]
    (grid,) = read_shapes(2, files)
    assert (grid.name, grid.counts.shape, int(grid.counts.sum())) == ("grid", (8, 8), 57)
    asked = ["--runs", "1", "--epsilon", "1", "--scale", "own", "--output", str(tmp_path / "out")]
    universal.main([str(files[0]), *asked, "--contenders", "HB", "leaves", OURS])
    printed = capsys.readouterr().out
    assert "Shapes (1): mine." in printed
    assert "| HB |" in printed
    assert "Nothing over 2 axes" in printed


@pytest.mark.verify
def test_the_comparison_runs_and_goes_on(data, capsys) -> None:
    asked = ["--runs", "1", "--epsilon", "0.5", "--output", str(data / "out")]
    universal.main([*asked, "--axes", "1", "--scale", "own", "1e3"])
    first = capsys.readouterr()
    assert "Shapes (2): FEW, MORE." in first.out
    assert "| prefixes, ε = 0.5 | own | 1,000 |" in first.out
    assert "| AdaptiveTree / 16-ary + projection, at worst | ε = 0.5 |" in first.out
    for name in ("leaves", "Privelet", "H~ binary", "H- binary", "best uniform tree", OURS):
        assert first.out.count(f"| {name} |") == 2
    cells = 2 * 2 * len(contenders(1))
    assert first.err.count("\n") == cells
    with (data / "out" / "cells.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 2 * cells
    universal.main([*asked, "--axes", "1", "--scale", "own", "1e3"])
    assert capsys.readouterr() == (first.out, "")


@pytest.mark.verify
def test_the_comparison_in_two_dimensions(data, capsys) -> None:
    asked = ["--axes", "2", "--runs", "1", "--epsilon", "1", "--scale", "own"]
    universal.main([*asked, "--definition", "per-run", "--output", str(data / "out")])
    printed = capsys.readouterr().out
    assert "| rectangles, ε = 1 | own |" in printed
    for name in ("4 x 4 + projection", "best uniform tree", "best tree + projection", OURS):
        assert printed.count(f"| {name} |") == 1


@pytest.mark.parametrize("wrong", [["--epsilon", "0"], ["--scale", "-5"], ["--runs", "0"]])
def test_what_cannot_be_measured_is_refused(wrong, data) -> None:
    with pytest.raises(SystemExit) as stopped:
        universal.main(wrong)
    assert stopped.value.code == 2


@pytest.mark.verify
def test_the_experiment_of_the_paper_runs(data, capsys, monkeypatch) -> None:
    monkeypatch.setattr(hay2010_ranges, "TREES", ((2, 3),))
    monkeypatch.setattr(theorem4, "MOST_RUNS", 50)
    picture = data / "new" / "picture.png"
    hay2010_ranges.main(["--runs", "2", "--bins", "128", "--figure", str(picture)])
    printed = capsys.readouterr().out
    assert "| MORE, 128 bins, ε = 0.01: size |" in printed
    assert "| FEW | 1 | all |" in printed
    assert "| 2, 3 | 4 | 2 |" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setenv("DPHIST_DATA", str(data / "absent"))
    hay2010_ranges.main(["--runs", "2"])
    printed = capsys.readouterr().out
    assert "only the theorem" in printed
    assert "| 2, 3 | 4 | 2 |" in printed


@pytest.mark.verify
def test_the_times_are_printed(capsys) -> None:
    universal_speed.main(["--bins", "300", "--turns", "1", "--small", "24", "--large", "1000"])
    printed = capsys.readouterr().out
    assert (
        "| processor milliseconds of a release; bins | AdaptiveTree, 3 records a bin |" in printed
    )
    assert "\n| 24 |" in printed
    assert "| 1,000 bins, 16 children a node | seconds | peak GiB |" in printed
    assert printed.count("| dphist, least squares |") >= 1
    assert "OpenDP" in printed
