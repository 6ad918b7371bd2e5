"""How long a plan takes: settings, and seconds of the processor.

python -m benchmarks.planning_time
"""

import time
from typing import Any

import dphist as dh
from benchmarks.markdown import print_table

EPSILONS = [f"{n / 10:g}" for n in range(1, 26)]
PLANS: list[tuple[str, dict[str, Any]]] = [
    ("labels", {"epsilon": EPSILONS, "max_labels": [1, 5, 20, 100], "delta": "1e-6"}),
    ("labels", {"users": 100_000}),
    ("ranges", {"bins": 256, "total": 10**6}),
    ("ranges", {"bins": 4096, "total": 10**6}),
    ("anonymized", {"total": 10**6}),
    ("anonymized", {"total": 10**8}),
    ("stream", {"horizon": 10**6, "delta": "1e-6"}),
]


def main() -> None:
    """Print the table; each plan is made once before, so that modules are imported."""
    rows = []
    for kind, asked in PLANS:
        dh.plan(kind, **{**asked, "epsilon": "0.7"})
        before = time.process_time()
        made = dh.plan(kind, **asked)
        seconds = time.process_time() - before
        said = ", ".join(f"`{k}={v}`" for k, v in asked.items() if isinstance(v, int))
        rows.append([f"{kind} {said}", len(made), f"{seconds:.1f}"])
    print_table(["plan", "settings", "seconds"], rows)


if __name__ == "__main__":
    main()
