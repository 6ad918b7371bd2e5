"""Every mechanism for anonymized histograms on every profile: error, rank and time.

    python -m benchmarks.anonymized [FILE ...] [--mechanisms NAME ...] [--profiles NAME ...]

Profiles are those `benchmarks.data` finds, and any given file with columns count and prevalence.
A cell (mechanism, profile, epsilon) is run until the standard error of its mean error is small
enough or its time is up. A run that takes longer is cut, and a cell without two runs is left out
and named, unless --limit gives these two more time. Finished cells are kept in `cells.jsonl` of the
output folder and not measured again, so a killed run continues where it was; delete that file to
measure anew after the library's code changed under one version number. Tables and plots go to the
same folder and hold the cells asked for: run slow mechanisms apart, then all together with
--tables-only.

With --earlier, an earlier table.csv has the cells of the mechanisms that --mechanisms does not
name, so that those of one mechanism are made again after its code changed, and the tables hold all.
The files must hold the same data. `docs/understand/comparison.csv` is such a table:

    python -m benchmarks.anonymized --seconds 40 --limit 600 --mechanisms AdaptiveScan \\
        --earlier docs/understand/comparison.csv
"""

import argparse
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from benchmarks.comparison.cells import Cell, Dataset, file_name, plan, read_datasets
from benchmarks.comparison.earlier import take_earlier
from benchmarks.comparison.figures import write_figures
from benchmarks.comparison.journal import Journal
from benchmarks.comparison.limits import MEMORY, memory_limit
from benchmarks.comparison.ranking import rows_of
from benchmarks.comparison.tables import summary_table, write_tables
from benchmarks.data import ROOT, profile_paths
from benchmarks.repeating import FEWEST, TooSlowError, measure
from dphist.anonymized.comparing import CONTENDERS
from dphist.document.compared import Contender
from dphist.errors import DphistError
from dphist.lab.comparing.compare import open_case
from dphist.lab.comparing.measuring import Effort
from dphist.lab.comparing.results import epsilon_text, number_text
from dphist.parameters import positive_number

EPSILONS = ("4", "2", "1", "0.5", "0.1", "0.01")
OUTPUT = ROOT / "benchmarks" / "out" / "anonymized"
FAST = Effort(target=0.5, fewest=2, most=3, seconds=1.0)
FAST_EPSILONS, FAST_PROFILES, FAST_LABELS = ("1", "0.1"), 2, 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, then write tables and plots; 1 if a cell could not be measured."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    effort = _effort(chosen)
    asked = _contenders(chosen, parser)
    if chosen.earlier and not chosen.earlier.is_file():
        parser.error("--earlier must name a table.csv")
    shown = list(CONTENDERS) if chosen.earlier else asked
    cells = plan(_datasets(chosen, parser), _epsilons(chosen), shown, effort)
    journal = Journal(chosen.output / "cells.jsonl")
    if chosen.earlier:
        taken = take_earlier(
            [c for c in cells if c.contender not in asked], chosen.earlier, journal
        )
        print(f"{taken} cells of {chosen.earlier}")
    failures: list[str] = []
    slow: list[str] = []
    if not chosen.tables_only:
        limit = max(chosen.limit or 0.0, effort.seconds)
        with memory_limit(chosen.memory):
            wanted = [c for c in cells if c.contender in asked]
            failures, slow = _measure_missing(wanted, journal, effort, limit)
    rows = rows_of(cells, journal)
    write_tables(chosen.output, rows, len(cells), effort)
    if rows:
        print(f"\n{summary_table(rows)}\n")
        write_figures(chosen.output, rows)
    print(f"{len(rows)} of {len(cells)} cells: table.md, table.csv and plots written")
    for one in slow:
        print(f"left out: {one}", file=sys.stderr)
    for failure in failures:
        print(f"not measured: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _measure_missing(
    cells: Sequence[Cell], journal: Journal, effort: Effort, limit: float
) -> tuple[list[str], list[str]]:
    """Measure the cells not in the journal; return what failed, and what was too slow."""
    missing = [cell for cell in cells if journal.get(cell.key) is None]
    print(f"{len(cells) - len(missing)} of {len(cells)} cells were finished before", flush=True)
    failures: list[str] = []
    slow: list[str] = []
    for number, cell in enumerate(missing, 1):
        what = f"{cell.dataset.name}, ε = {epsilon_text(cell.epsilon)}, {cell.contender.name}"
        _, case = open_case(cell.dataset.profile)
        foreseen = case.foresee(cell.mechanism)
        if foreseen is not None and FEWEST * foreseen > limit:
            slow.append(f"{what}: {FEWEST} runs take {FEWEST * foreseen:.2g} s or more")
            continue
        try:
            measured = measure(case.run(cell.mechanism), effort, limit)
        except TooSlowError as error:
            slow.append(f"{what}: {error}")
            continue
        except (DphistError, MemoryError) as error:
            # One mechanism out of its depth should not end a long run of all the others.
            failures.append(f"{what}: {type(error).__name__}: {error}")
            continue
        journal.add(cell.key, what, measured)
        print(
            f"[{number}/{len(missing)}] {what}: {number_text(measured.error)} ± "
            f"{number_text(measured.standard_error)} ({measured.runs} runs, "
            f"{number_text(measured.seconds)} s)",
            flush=True,
        )
    return failures, slow


def _parser() -> argparse.ArgumentParser:
    usual = Effort()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="further profiles, with columns count and prevalence")
    add("--epsilons", nargs="+", type=_epsilon, metavar="E", help=f"default {' '.join(EPSILONS)}")
    add("--mechanisms", nargs="+", metavar="NAME", help="only those whose name has this in it")
    add("--profiles", nargs="+", metavar="NAME", help="only those whose file name has this in it")
    add("--earlier", type=Path, metavar="FILE", help="table.csv with the cells of all others")
    add("--output", type=Path, default=OUTPUT, metavar="FOLDER", help="default benchmarks/out/...")
    add("--target", type=float, help=f"standard error over mean, default {usual.target}")
    add("--fewest", type=int, metavar="RUNS", help=f"default {usual.fewest}; time may allow less")
    add("--most", type=int, metavar="RUNS", help=f"default {usual.most}")
    add("--seconds", type=float, help=f"time for a cell, default {usual.seconds:g}")
    add("--limit", type=float, metavar="S", help="time for its first two runs, if that is longer")
    add("--memory", type=float, default=MEMORY, metavar="GIB", help=f"at most, default {MEMORY:g}")
    add("--fast", action="store_true", help="a try: two small profiles, two epsilons, 3 runs")
    add("--tables-only", action="store_true", help="measure nothing, show what is finished")
    return parser


def _epsilon(text: str) -> Fraction:
    return positive_number(text, "epsilon")


def _effort(chosen: argparse.Namespace) -> Effort:
    usual = FAST if chosen.fast else Effort()
    return Effort(
        usual.target if chosen.target is None else chosen.target,
        usual.fewest if chosen.fewest is None else chosen.fewest,
        usual.most if chosen.most is None else chosen.most,
        usual.seconds if chosen.seconds is None else chosen.seconds,
    )


def _epsilons(chosen: argparse.Namespace) -> list[Fraction]:
    return chosen.epsilons or [Fraction(e) for e in (FAST_EPSILONS if chosen.fast else EPSILONS)]


def _contenders(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Contender]:
    wanted = chosen.mechanisms or [""]
    found = [c for c in CONTENDERS if any(part.lower() in c.name.lower() for part in wanted)]
    if not found:
        parser.error("--mechanisms: none of " + ", ".join(c.name for c in CONTENDERS))
    return found


def _datasets(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Dataset]:
    wanted = chosen.profiles or [""]
    paths = [*profile_paths(), *chosen.files]
    named = [p for p in paths if any(part.lower() in file_name(p).lower() for part in wanted)]
    if not named:
        parser.error("--profiles: none of " + ", ".join(map(file_name, paths)))
    try:
        datasets = read_datasets(named)
    except DphistError as error:
        parser.error(str(error))
    if chosen.fast and not chosen.profiles:
        return [d for d in datasets if d.profile.labels <= FAST_LABELS][:FAST_PROFILES]
    return datasets


if __name__ == "__main__":
    sys.exit(main())
