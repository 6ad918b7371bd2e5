"""Universal histograms side by side: errors of prefixes, ranges and rectangles on real data.

    python -m benchmarks.ranges [FILE ...] [--axes 1] [--runs N] [--epsilon 0.1 ...]
                                [--scale own 1000 ...] [--seconds S]

Histograms over ordered bins as `benchmarks.ranges.data` finds them, and those of files (with a
column count, or row, col and count), with their own records and resampled to more and fewer.
Printed is the geometric mean over shapes of the root mean squared error of a query, by contender,
epsilon and number of records, and at last by shape how ours compares with a fixed tree, and how
with each published mechanism. "best uniform tree" is least squares with the branching, written in
brackets, that turned out best in that very cell of the table; so are others called best.
A run that takes longer than a cell's time is cut; a contender with such a cell is named, and left
out of the tables. Finished cells are kept in `cells.csv` of the output folder and not measured
again: delete it after the library's code changed under one version number.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.data import ROOT
from benchmarks.ranges.contenders import Contender, contenders
from benchmarks.ranges.data import OWN, Shape, read_shapes
from benchmarks.ranges.journal import Journal
from benchmarks.ranges.measuring import Cell, Effort, measure
from benchmarks.ranges.tables import (
    Results,
    print_means,
    print_published,
    print_ratios,
    scale_text,
)
from benchmarks.repeating import TooSlowError
from dphist.errors import DphistError
from dphist.lab.comparing.results import number_text
from dphist.parameters import positive_number
from dphist.ranges.comparing.queries import WORKLOADS

Named = TypeVar("Named", Shape, Contender)

EPSILONS = ("1", "0.1", "0.01")
SCALES = {1: (OWN, "1000", "100000", "10000000"), 2: (OWN, "10000", "1000000", "100000000")}
OUTPUT = ROOT / "benchmarks" / "out" / "universal"
DEFINITIONS = {
    "mse": "root of the mean over runs and queries of squared errors",
    "per-run": "mean over runs of the root mean squared error of a run's queries",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, then print the tables."""
    chosen = _parser().parse_args(arguments)
    effort = Effort(chosen.runs, chosen.seconds)
    journal = Journal(chosen.output / "cells.csv")
    print(f"Records a query: {DEFINITIONS[chosen.definition]}.", flush=True)
    for axes in chosen.axes:
        shapes = _named(read_shapes(axes, chosen.files), chosen.shapes)
        among = _named(contenders(axes), chosen.contenders)
        if not shapes or not among:
            print(f"\nNothing over {axes} {'axis' if axes == 1 else 'axes'}.")
            continue
        scales = chosen.scale or SCALES[axes]
        cells = [
            Cell(shape, scale, epsilon, contender)
            for shape in shapes
            for scale in scales
            for epsilon in chosen.epsilon
            for contender in among
        ]
        slow = _measure_missing(cells, journal, effort)
        kept = [cell for cell in cells if cell.contender.name not in slow]
        if not kept:
            print(f"\nNothing over {axes} axes was measured in time.")
            continue
        results = _results(kept, journal, effort, chosen.definition)
        print(f"\nShapes ({len(shapes)}): {', '.join(shape.name for shape in shapes)}.")
        print_means(results)
        print_ratios(results)
        print_published(results)


def _measure_missing(cells: Sequence[Cell], journal: Journal, effort: Effort) -> set[str]:
    """Measure the cells not in the journal; return contenders that were too slow in one."""
    slow = set()
    missing = [cell for cell in cells if journal.get(cell, effort) is None]
    for number, cell in enumerate(missing, 1):
        try:
            measured = measure(cell, effort)
        except TooSlowError as error:
            slow.add(cell.contender.name)
            errors = f"left out, {error}"
        else:
            journal.add(cell, effort, measured)
            errors = ", ".join(f"{name} {number_text(one.mse)}" for name, one in measured.items())
        what = f"{cell.shape.name}, {scale_text(cell.scale)}, ε = {cell.epsilon}"
        # Tables alone go to the standard output.
        print(
            f"[{number}/{len(missing)}] {what}, {cell.contender.name}: {errors}",
            file=sys.stderr,
            flush=True,
        )
    return slow


def _results(cells: Sequence[Cell], journal: Journal, effort: Effort, definition: str) -> Results:
    errors, doubts = {}, {}
    for cell in cells:
        found = journal.get(cell, effort)
        assert found is not None
        for workload in WORKLOADS[cell.shape.axes]:
            one = found[workload]
            key = (cell.contender.name, cell.shape.name, workload, cell.epsilon, cell.scale)
            errors[key] = one.mse if definition == "mse" else one.per_run
            doubts[key] = one.doubt
    return Results(
        cells[0].shape.axes,
        list(dict.fromkeys(cell.shape.name for cell in cells)),
        list(dict.fromkeys(cell.scale for cell in cells)),
        list(dict.fromkeys(cell.epsilon for cell in cells)),
        list(dict.fromkeys(cell.contender for cell in cells)),
        errors,
        doubts,
    )


def _named(found: list[Named], parts: list[str] | None) -> list[Named]:
    """Return those whose name has one of these in it; all if none is given."""
    wanted = [part.lower() for part in parts or [""]]
    return [one for one in found if any(part in one.name.lower() for part in wanted)]


def _epsilon(text: str) -> str:
    try:
        positive_number(text, "epsilon")
        float(text)
    except (DphistError, ValueError):
        raise argparse.ArgumentTypeError("must be a decimal number above 0") from None
    return text


def _scale(text: str) -> str:
    if text == OWN:
        return text
    try:
        records = int(float(text))
    except (ValueError, OverflowError):
        records = 0
    if not records > 0:
        raise argparse.ArgumentTypeError(f"must be {OWN} or a number of records")
    return str(records)


def _runs(text: str) -> int:
    runs = int(text)
    if not runs >= 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return runs


def _parser() -> argparse.ArgumentParser:
    usual = Effort()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="further histograms, of bins or cells of a grid")
    add("--axes", nargs="+", type=int, choices=(1, 2), default=[1, 2], help="default both")
    add("--shapes", nargs="+", metavar="NAME", help="only those whose file name has this in it")
    add("--contenders", nargs="+", metavar="NAME", help="only those whose name has this in it")
    add("--epsilon", nargs="+", type=_epsilon, default=list(EPSILONS), metavar="E")
    add("--scale", nargs="+", type=_scale, metavar="N", help=f"records, or {OWN}")
    add("--runs", type=_runs, default=usual.runs, help=f"of a cell, default {usual.runs}")
    add("--seconds", type=float, default=usual.seconds, help="time for a cell")
    add("--definition", choices=tuple(DEFINITIONS), default="mse", help="default mse")
    add("--output", type=Path, default=OUTPUT, metavar="FOLDER", help="default benchmarks/out/...")
    return parser


if __name__ == "__main__":
    main()
