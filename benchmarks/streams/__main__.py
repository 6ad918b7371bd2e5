"""Running counts: the noise of counters beside each other, thresholds, and real streams.

    python -m benchmarks.streams [--bits 8 12 ...] [--labels N] [--runs N]

Variances of running counts are in units of sigma_1**2 = 1 / (2 rho), the variance of a single
count that costs what the whole course of one label costs. Ours are those that the counters state,
and once more as measured of `ContinualHistogram`: a stream of empty events, so that all that is
read is noise. Thresholds and real streams are for a total (epsilon, delta) by `dphist.calibrate`.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from benchmarks.markdown import print_table
from benchmarks.streams import published
from benchmarks.streams.measuring import claimed, simulate
from benchmarks.streams.published import Variance
from benchmarks.streams.real_streams import real_streams, true_counts
from benchmarks.streams.searching import Effort, buffered
from dphist import ContinualHistogram, calibrate
from dphist.errors import ParameterError
from dphist.streams.counters.design import design
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.methods import Method

METHODS: tuple[Method, ...] = ("toeplitz", "autoregressive", "binary")
BITS = (8, 12, 16, 20)
TOTALS = (("1", "1e-6"), ("0.1", "1e-8"))
THRESHOLD_BITS, MOST_LABELS = (16, 20), (1, 10)
READINGS = 100
STREAM_EPSILONS, STREAM_DELTA = ("1", "0.1"), "1e-6"
SEED = 7


def print_counters(bits: Sequence[int]) -> None:
    """Print the variances of all counters, mean and largest over time."""
    horizons = [2**each for each in bits]
    rows: dict[str, list[Variance | float]] = {
        "lower bound of the mean": [published.lower_bound(horizon) for horizon in horizons],
        "√ Toeplitz factorization (memory: all times)": [
            published.square_root(horizon) for horizon in horizons
        ],
        "BLT, as many numbers a label as ours": [
            buffered(len(design(horizon).decays), horizon, Effort()) for horizon in horizons
        ],
        "dphist, toeplitz": [claimed("toeplitz", horizon) for horizon in horizons],
        "dphist, autoregressive": [claimed("autoregressive", horizon) for horizon in horizons],
        "Honaker, from below": [published.honaker(horizon) for horizon in horizons],
        "dphist, binary": [claimed("binary", horizon) for horizon in horizons],
        "binary, by formula": [published.binary(horizon) for horizon in horizons],
    }
    head = ["variance of a running count, σ₁²: mean / largest over time"]
    print_table(
        [*head, *(f"2^{each}" for each in bits)],
        ([name, *map(_text, values)] for name, values in rows.items()),
    )
    numbers = ", ".join(str(len(design(horizon).decays)) for horizon in horizons)
    print(f"\nNumbers a label, toeplitz and autoregressive: {numbers}.")


def _text(value: Variance | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value.mean:.2f} / {value.largest:.2f}"


def print_measured(bits: Sequence[int], labels: int, readings: int) -> None:
    """Print stated and measured variances at the same times."""
    rows = []
    for each in bits:
        for method in METHODS:
            found = simulate(method, 2**each, labels, readings, SEED)
            rows.append(
                [
                    f"2^{each}, {method}",
                    len(found.claimed),
                    f"{found.claimed.mean():.2f} / {found.claimed.max():.2f}",
                    f"{found.measured.mean():.2f} / {found.measured.max():.2f}",
                    f"{found.measured.mean() / found.claimed.mean():.3f}",
                    f"{found.ratios.min():.3f} to {found.ratios.max():.3f}",
                ]
            )
    head = [f"horizon, method; {labels:,} labels", "readings", "stated, σ₁²: mean / largest"]
    print_table([*head, "measured", "measured / stated", "of single readings"], rows)


@cache
def calibrated(
    method: Method, epsilon: str, delta: str, horizon: int, most: int, readings: int | None = None
) -> ContinualMechanism | None:
    """Return the mechanism of this total; None where the library refuses it."""
    try:
        found: ContinualMechanism = calibrate(
            ContinualMechanism,
            epsilon=epsilon,
            delta=delta,
            horizon=horizon,
            max_labels=most,
            method=method,
            readings=readings,
        )
    except ParameterError:
        return None
    return found


def print_thresholds(bits: Sequence[int]) -> None:
    """Print thresholds, and the largest standard error, of both methods."""
    rows = []
    for epsilon, delta in TOTALS:
        for each in bits:
            for most in MOST_LABELS:
                asked = (epsilon, delta, 2**each, most)
                made = [calibrated(method, *asked) for method in METHODS]
                limits = [None if one is None else float(one.threshold or 0) for one in made]
                few = [calibrated(method, *asked, READINGS) for method in METHODS]
                fewer = [None if one is None else float(one.threshold or 0) for one in few]
                errors = [None if one is None else one.standard_error for one in made]
                ratio = "-" if None in limits else f"{(limits[-1] or 0) / (limits[0] or 1):.2f}"
                rows.append(
                    [
                        f"({epsilon}, {delta}), 2^{each}, {most}",
                        *map(_number, limits),
                        ratio,
                        *map(_number, fewer),
                        *map(_number, errors),
                    ]
                )
    head = ["total, horizon, labels an event", *(f"threshold, {method}" for method in METHODS)]
    head += ["binary / toeplitz", *(f"read {READINGS} times, {method}" for method in METHODS)]
    head += [*(f"largest standard error, {method}" for method in METHODS)]
    print_table(head, rows)


def _number(value: float | None) -> str:
    return "refused" if value is None else f"{value:,.1f}"


def print_streams(runs: int) -> None:
    """Print what is released at the end of real streams."""
    found = real_streams()
    if not found:
        print("No real streams: name a folder that has `streams` in it in DPHIST_DATA.")
        return
    head = ["stream", "events", "labels", "ε"]
    head += [f"{what}, {method}" for method in METHODS for what in ("released", "RMSE")]
    print_table(head, (row for one in found for row in _stream_rows(one.name, one.events(), runs)))


def _stream_rows(name: str, events: pa.Table, runs: int) -> Iterator[list[str]]:
    truth = true_counts(events)
    horizon = 1 << (events.num_rows - 1).bit_length()
    for epsilon in STREAM_EPSILONS:
        row = [name, f"{events.num_rows:,}", f"{len(truth):,}", epsilon]
        for method in METHODS:
            made = calibrated(method, epsilon, STREAM_DELTA, horizon, 1)
            if made is None:
                row += ["refused", "-"]
                continue
            labels, error = _released(made, events, truth, runs)
            row += [f"{labels:,.1f}", f"{error:,.1f}" if labels else "-"]
        yield row


def _released(
    made: ContinualMechanism, events: pa.Table, truth: dict[str, int], runs: int
) -> tuple[float, float]:
    """Return labels released at the end, and the root mean squared error of their counts."""
    numbers, squares = 0, 0.0
    for run in range(runs):
        source = np.random.default_rng([SEED, run]).bytes
        stream = ContinualHistogram(
            epsilon=made.epsilon, delta=made.delta, horizon=made.horizon, method=made.method
        )
        stream.update_many(events, source=source)
        counts = stream.counts(source=source)
        numbers += len(counts)
        squares += sum((count - truth[label]) ** 2 for label, count in counts.items())
    return numbers / runs, (squares / max(numbers, 1)) ** 0.5


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--bits", nargs="+", type=int, default=list(BITS), help="horizons are 2**bits")
    add("--labels", type=int, default=2000, help="listed labels of the simulation")
    add("--readings", type=int, default=50, help="of the simulation")
    add("--threshold-bits", nargs="+", type=int, default=list(THRESHOLD_BITS))
    add("--runs", type=int, default=5, help="of each real stream; 0: none")
    chosen = parser.parse_args(arguments)
    print_counters(chosen.bits)
    print()
    print_measured(chosen.bits, chosen.labels, chosen.readings)
    print()
    print_thresholds(chosen.threshold_bits)
    if chosen.runs:
        print()
        print_streams(chosen.runs)


if __name__ == "__main__":
    main()
