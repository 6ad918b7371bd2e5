"""Time to start: importing dphist, and commands that read no data, beside importing numpy.

    python -m benchmarks.start

All run in turn, so that what else the machine does falls on each alike. A ratio is that of
medians; its standard error is from resampling turns. Processor time stands beside elapsed time:
it hangs less on a busy machine.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from benchmarks.markdown import print_table

TURNS = 15
RESAMPLES = 1000
NUMPY = "import numpy"
_TARGET = ("--epsilon", "1", "--dry-run")
_LABELS = ("--label", "term", "--user", "who", "--max-labels", "10", "--delta", "1e-6")
COMMANDS: dict[str, Sequence[str]] = {
    NUMPY: ("-c", "import numpy"),
    "import dphist": ("-c", "import dphist"),
    "import all public names": ("-c", "from dphist import *"),
    "dphist --version": ("-m", "dphist", "--version"),
    "dphist --help": ("-m", "dphist", "--help"),
    "dphist anonymize --dry-run": ("-m", "dphist", "anonymize", "f.csv", *_TARGET),
    "dphist ranges --dry-run": (
        *(
            "-m",
            "dphist",
            "ranges",
            "f.csv",
            "--each-row-is-one-person",
            "--column",
            "age",
            "--edges",
            "0,18,65,120",
        ),
        *_TARGET,
    ),
    "dphist labels --dry-run": ("-m", "dphist", "labels", "f.csv", *_LABELS, *_TARGET),
    "dphist top --dry-run": (
        *("-m", "dphist", "top", "f.csv", "-k", "10", "--candidates", "100"),
        *(*_LABELS, *_TARGET),
    ),
    "dphist stream --dry-run": (
        *("-m", "dphist", "stream", "--state", "s", "--horizon", "65536", "--max-labels", "1"),
        *("--delta", "1e-6", *_TARGET),
    ),
}


def seconds(command: Sequence[str], folder: str) -> tuple[float, float]:
    """Run a command once; return its elapsed time and its processor time."""
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    elapsed, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return elapsed, user + after.children_system - before.children_system


def standard_error(measure: Callable[[list[int]], float], turns: int) -> float:
    """Return how far a measure of some turns varies when turns are resampled."""
    chance = random.Random(0)
    found = [measure(chance.choices(range(turns), k=turns)) for _ in range(RESAMPLES)]
    return statistics.stdev(found)


def main() -> None:
    """Print the table."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(-1, TURNS):  # the first turn reads the files into the system's cache
            for name, command in COMMANDS.items():
                spent = seconds(command, folder)
                if turn >= 0:
                    times[name].append(spent)
    print_table(
        ["", "elapsed (s)", "over numpy", "more than numpy (s)", "processor (s)", "over numpy"],
        [_row(name, times) for name in COMMANDS],
    )


def _row(name: str, times: dict[str, list[tuple[float, float]]]) -> list[str]:
    def median(of: str, kind: int, turns: Sequence[int] = range(TURNS)) -> float:
        return statistics.median(times[of][turn][kind] for turn in turns)

    def ratio(kind: int) -> str:
        def measure(turns: Sequence[int]) -> float:
            return median(name, kind, turns) / median(NUMPY, kind, turns)

        return f"{measure(range(TURNS)):.2f} ± {standard_error(measure, TURNS):.2f}"

    more = median(name, 0) - median(NUMPY, 0)
    elapsed, spent = f"{median(name, 0):.2f}", f"{median(name, 1):.2f}"
    return [f"`{name}`", elapsed, ratio(0), f"{more:.2f}", spent, ratio(1)]


if __name__ == "__main__":
    main()
