"""Reading after every event: time of a reading by the number of labels, and of readings before it.

    python -m benchmarks.streams.readings [--sizes 1000 10000 100000] [--readings N]

An event is counted and the stream is read, again and again; times are of this thread's processor
(on disk: of all, without waiting for the disk), so that the load on the machine matters little.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.markdown import print_table
from dphist import ContinualHistogram

SIZES, READINGS = (1000, 10_000, 100_000), 40
EARLIER = (0, 10_000, 20_000)


def seconds_each(stream: ContinualHistogram, readings: int, *, new: bool) -> float:
    """Return processor time per event and reading; each event has a new label, or an old one."""
    start = time.process_time()
    for number in range(readings):
        stream.update([f"new {number}" if new else "label 0"])
        stream.counts()
    return (time.process_time() - start) / readings


def stream_of(labels: int, path: Path | None) -> ContinualHistogram:
    """Return a stream with so many labels that was read once."""
    shape: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 2**20}
    stream = ContinualHistogram(**shape) if path is None else ContinualHistogram.open(path, **shape)
    stream.update_many([[f"label {number}"] for number in range(labels)])
    stream.counts()
    return stream


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--readings", type=int, default=READINGS)
    chosen = parser.parse_args(arguments)
    rows = []
    for labels in chosen.sizes:
        cells = []
        with tempfile.TemporaryDirectory(prefix="dphist-benchmark-", dir=Path.cwd()) as place:
            for path in (None, Path(place) / "state"):
                with stream_of(labels, path) as stream:
                    for new in (False, True):
                        taken = seconds_each(stream, chosen.readings, new=new)
                        cells.append(f"{taken * 1e3:.2f} ({taken / labels * 1e9:,.0f})")
        rows.append([f"{labels:,}", *cells])
    head = ["labels; ms an event and reading (ns a label)", "old label", "a new label each"]
    print_table([*head, "on disk, old label", "on disk, a new label each"], rows)
    print()
    stream = stream_of(100, None)
    rows = []
    for earlier in EARLIER:
        while stream._state.reads[0] < earlier:
            seconds_each(stream, 1, new=False)
        taken = seconds_each(stream, 1000, new=False)
        rows.append([f"{earlier:,}", f"{taken * 1e3:.3f}"])
    print_table(["readings before, 100 labels", "ms an event and reading"], rows)


if __name__ == "__main__":
    main()
