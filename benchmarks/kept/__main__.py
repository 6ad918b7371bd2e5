"""Ratios of speed, and which of them moved since the committed table was made.

    python -m benchmarks.kept [--write] [--only WORD]

Each ratio is the time of dphist over that of something well known, both in turn in one run, so that
it depends little on the machine. It is of medians over the turns, and its standard error is from
resampling them. "Moved" is said of a ratio that differs from that of the table by more than three
standard errors of the difference, of which a twentieth of either ratio is a part: two runs of the
same code differ by that. The exit code is 1 if a ratio is above the limit that a page claims, by
more than three of its own standard errors. `--write` replaces the table.
"""

import argparse
import contextlib
import logging
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.kept import measuring
from benchmarks.kept.cases import all_cases
from benchmarks.markdown import print_table

TABLE = Path(__file__).parent / "table.csv"


def main() -> int:
    """Print the table, and what moved."""
    logging.disable()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept")
    parser.add_argument("--write", action="store_true", help="replace the committed table")
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    before = measuring.read(TABLE) if TABLE.exists() else {}
    began, ratios = time.perf_counter(), []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ended:
        for case in all_cases(Path(folder), ended):
            if options.only in case.name:
                ratios.append(measuring.measured(case))
    rows = []
    for each in ratios:
        known = before.get(each.name)
        limit = "" if each.limit is None else f"≤ {each.limit:.3g}"
        was = "" if known is None else f"{known.ratio:.3g} ± {known.error:.1g}"
        word = measuring.said(each, known) + (", ABOVE THE CLAIM" if each.missed else "")
        now = f"{each.ratio:.3g} ± {each.error:.1g}"
        rows.append([each.name, each.other, now, was, limit, word])
    print_table(["", "time over that of", "ratio", "table", "claim", ""], rows)
    print(f"\n{time.perf_counter() - began:.0f} s", flush=True)
    if options.write:
        kept = {**({} if not options.only else before), **{each.name: each for each in ratios}}
        measuring.write(TABLE, list(kept.values()))
    return int(any(each.missed for each in ratios))


if __name__ == "__main__":
    sys.exit(main())
