"""The row of dphist for a harness of others that compares libraries.

The harness is https://github.com/dsaidgovsg/benchmarking-differential-privacy-tools, which runs
OpenDP, diffprivlib, PipelineDP and Tumult Analytics on its own numbers. Each library has one module
with `run_query`, and this is the one for dphist:

    git clone https://github.com/dsaidgovsg/benchmarking-differential-privacy-tools
    cp benchmarks/harness_row.py benchmarking-differential-privacy-tools/dp_tools/run_dphist.py
    cd benchmarking-differential-privacy-tools
    python -m dp_tools.run_dphist --query mean --size 10k

It needs `psutil`, as the modules of the others do. The harness saves errors, seconds and memory in
outputs/. Each row of its data is one unit that is added or removed, and epsilon is pure and for the
whole answer: sum and mean come from one release, which has the count as well. As of the others, the
clamp is read from the data, which is right in a comparison alone. dphist has no variance.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
from commons.stats_vals import (  # type: ignore[import-not-found] # of the harness
    COUNT,
    DEFAULT_COLUMN_NAME,
    EPSILON_VALUES,
    MEAN,
    SIZES_DICT,
    SUM,
)
from commons.utils import save_synthetic_data_query_ouput  # type: ignore[import-not-found]

import dphist as dh

LABEL = "all"
STEP = "0.01"
"""The unit of the numbers of the harness: they are written with two decimals."""


def prepare(query: str, numbers: pd.Series, epsilon: float) -> Callable[[], float]:
    """Return a function that answers a query with a fresh release at this epsilon."""
    if query not in (COUNT, SUM, MEAN):
        raise ValueError(f"dphist answers {COUNT}, {SUM} and {MEAN}, not {query}")
    rows = pd.DataFrame({"label": LABEL, "x": numbers})
    low, high = (math.floor(numbers.min() * 100), math.ceil(numbers.max() * 100))
    clamp = dh.Clamp(Decimal(low) / 100, Decimal(high) / 100, STEP)
    sums = None if query == COUNT else {"x": clamp}
    mechanism = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=str(epsilon),
        delta=0,
        max_labels=1,
        labels=[LABEL],
        sums=sums,
    )

    def answer() -> float:
        counts = dh.LabelCounts.from_table(rows, label="label", sums=sums)
        table = mechanism.release(counts).value
        if query == COUNT:
            return float(table.count(LABEL))
        if query == SUM:
            return float(table.estimates("x")[0, 0])
        mean = table.mean(LABEL).value
        return float((clamp.low + clamp.high) / 2) if mean is None else float(mean)

    return answer


def run_query(
    query: str,
    epsilon_values: Sequence[float],
    per_epsilon_iterations: int,
    data_path: str,
    output_folder: str,
) -> None:
    """Answer a query for each file and epsilon, and save what the harness saves of each library."""
    true_answers: dict[str, Callable[[Any], float]] = {
        COUNT: lambda numbers: numbers.count(),
        SUM: lambda numbers: numbers.sum(),
        MEAN: lambda numbers: numbers.mean(),
    }
    process = psutil.Process()
    for path in sorted(Path(data_path).glob("*.csv")):
        numbers = pd.read_csv(path)[DEFAULT_COLUMN_NAME]
        for epsilon in epsilon_values:
            answer = prepare(query, numbers, epsilon)
            true, errors, seconds, memory = true_answers[query](numbers), [], [], []
            for _ in range(per_epsilon_iterations):
                start = time.perf_counter()
                errors.append(abs(answer() - true))
                seconds.append(time.perf_counter() - start)
                memory.append(process.memory_info().rss)
            save_synthetic_data_query_ouput(
                "dphist",
                query,
                epsilon,
                path.name,
                errors,
                [error / abs(true) for error in errors],
                [error / len(numbers) for error in errors],
                seconds,
                memory,
                output_folder,
            )


def main() -> None:
    """Run one query on one size of the harness's data, as its run_tool.py does."""
    parser = argparse.ArgumentParser(prog="python -m dp_tools.run_dphist")
    parser.add_argument("--query", choices=[COUNT, SUM, MEAN], default=COUNT)
    parser.add_argument("--size", choices=["1k", "10k", "100k"], default="10k")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--output_folder", default=time.strftime("%m-%d"))
    asked = parser.parse_args()
    place = f"data/synthetic_data/size_{SIZES_DICT[asked.size]}/"
    run_query(asked.query, EPSILON_VALUES, asked.runs, place, asked.output_folder)


if __name__ == "__main__":
    main()
