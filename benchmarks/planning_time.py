"""How long a plan takes: settings, seconds that passed, and seconds of the processor.

    python -m benchmarks.planning_time [plans] [shared]

"shared" has plans of adaptive scans beside each setting tried by itself, in turns: the time, and
the errors.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dphist as dh
from benchmarks.markdown import print_table
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.anonymized.reference import ErrorCurve, error_on, public_profile
from dphist.data.diagram import Diagram
from dphist.noise import Source

TOTAL = 10**6
EPSILONS = [f"{n / 10:g}" for n in range(1, 26)]
BOUNDS = [1, 5, 20, 100]
HUNDRED = {"epsilon": EPSILONS, "max_labels": BOUNDS, "delta": "1e-6"}
RECORDS: dict[str, Any] = {"epsilon": EPSILONS, "sensitivity": BOUNDS, "total": TOTAL}
PUBLIC = public_profile(TOTAL, 1)
PLANS: list[tuple[str, dict[str, Any]]] = [
    ("labels", HUNDRED),
    ("labels", {**HUNDRED, "labels": 1000, "correlated": True}),
    ("labels", {"users": 100_000}),
    ("streams", {**HUNDRED, "horizon": 10**6}),
    ("streams", {"horizon": 10**6, "delta": "1e-6"}),
    ("ranges", {"bins": 24, **RECORDS}),
    ("ranges", {"bins": 256, **RECORDS}),
    ("ranges", {"bins": 256, "total": 10**6}),
    ("ranges", {"bins": 4096, "total": 10**6}),
    ("anonymized", RECORDS),
    ("anonymized", {"total": 10**6}),
    ("anonymized", {"total": 10**8}),
]
TURNS = 2
RUNS = 256
TRIED = ["0.001", "0.005", "0.02", "0.1", "0.5", "1", "1.5", "2.5"]  # epsilons of a cell


def main() -> None:
    """Print the tables, all of them or those named."""
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print()


def plans() -> None:
    """Print the times; each plan is made once before, so that modules are imported."""
    rows = []
    for kind, asked in PLANS:
        dh.plan(kind, **{**asked, "epsilon": "0.7"})
        start, before = time.perf_counter(), time.process_time()
        made = dh.plan(kind, **asked)
        passed, seconds = time.perf_counter() - start, time.process_time() - before
        said = ", ".join(f"`{k}={v}`" for k, v in asked.items() if isinstance(v, int))
        rows.append([f"{kind} {said}".strip(), len(made), f"{passed:.1f}", f"{seconds:.1f}"])
    print_table(["plan", "settings", "passed (s)", "processor (s)"], rows)


def shared() -> None:
    """Print the ratio of times, and the errors of the plan beside those of many runs."""
    turns = [(seconds_of(all_planned), seconds_of(all_apart)) for _ in range(TURNS)]
    rows = [[f"{one:.1f}", f"{other:.1f}", f"{other / one:.1f}"] for one, other in turns]
    print_table(["planned (s)", "each setting by itself (s)", "ratio"], rows)
    print()
    rows = []
    for epsilon in TRIED:
        scan = dh.AdaptiveScan(epsilon=epsilon)
        runs = [error_on(PUBLIC, scan_with(scan.epsilon), 1, 10**6 + at) for at in range(RUNS)]
        mean, spread = statistics.fmean(runs), statistics.stdev(runs) / math.sqrt(RUNS)
        curve = ErrorCurve(PUBLIC, lambda each, source: scan_with(each)(source), RUNS)
        errors = curve.at(scan.epsilon), scan.expected_error(TOTAL), apart(scan)
        row = [f"{error:,.0f} ({100 * (error / mean - 1):+.1f} %)" for error in errors]
        rows.append([epsilon, f"{mean:,.0f} ± {100 * spread / mean:.1f} %", *row])
    head = ["ε of a cell", f"{RUNS} runs", f"curve of {RUNS} runs", "planned", "by itself, 8 runs"]
    print_table(head, rows)


def scan_with(epsilon: Fraction) -> Callable[[Source], Diagram]:
    """Return what a scan of the public profile releases, for a source of noise."""
    scan = dh.AdaptiveScan(epsilon=epsilon)
    return lambda source: scan.release(PUBLIC, source).value


def apart(scan: dh.AdaptiveScan) -> float:
    """Return the error to expect as it is without a curve of errors: from runs of this scan."""
    return AnonymizedMechanism.expected_error(scan, TOTAL)


def all_planned() -> None:
    """Plan 100 settings."""
    dh.plan("anonymized", **RECORDS)


def all_apart() -> None:
    """Try the same settings each by itself."""
    for epsilon in EPSILONS:
        for bound in BOUNDS:
            apart(dh.AdaptiveScan(epsilon=Fraction(epsilon), sensitivity=bound))


def seconds_of(act: Callable[[], None]) -> float:
    """Return the seconds of the processor that it takes."""
    before = time.process_time()
    act()
    return time.process_time() - before


TABLES: dict[str, Callable[[], None]] = {"plans": plans, "shared": shared}

if __name__ == "__main__":
    main()
