"""How long a plan takes: settings, seconds that passed, and seconds of the processor.

python -m benchmarks.planning_time
"""

import time
from typing import Any

import dphist as dh
from benchmarks.markdown import print_table

EPSILONS = [f"{n / 10:g}" for n in range(1, 26)]
BOUNDS = [1, 5, 20, 100]
HUNDRED = {"epsilon": EPSILONS, "max_labels": BOUNDS, "delta": "1e-6"}
RECORDS = {"epsilon": EPSILONS, "sensitivity": BOUNDS, "total": 10**6}
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
    ("anonymized", {"total": 2 * 10**6}),  # not the total above, whose errors are kept
    ("anonymized", {"total": 10**8}),
]


def main() -> None:
    """Print the table; a plan is made before, of another total, so that modules are imported."""
    rows = []
    for kind, asked in PLANS:
        other = {"total": 1000} if "total" in asked else {}  # errors of this one must not be kept
        dh.plan(kind, **{**asked, **other, "epsilon": "0.7"})
        start, before = time.perf_counter(), time.process_time()
        made = dh.plan(kind, **asked)
        passed, seconds = time.perf_counter() - start, time.process_time() - before
        said = ", ".join(f"`{k}={v}`" for k, v in asked.items() if isinstance(v, int))
        rows.append([f"{kind} {said}".strip(), len(made), f"{passed:.1f}", f"{seconds:.1f}"])
    print_table(["plan", "settings", "passed (s)", "processor (s)"], rows)


if __name__ == "__main__":
    main()
