"""`python -m mutants`: apply planted privacy bugs to a copy, and see that the tests catch them."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from mutants.catalogue import Mutant, chosen, load, problems
from mutants.running import copy_repository, run_mutants, run_unmutated


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return 0, or 1 if a mutant was not caught."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="names, patterns such as 'noise-*', or families")
    parser.add_argument("--list", action="store_true", help="list the mutants, and run none")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once (default: 2)")
    parser.add_argument(
        "--only-short", action="store_true", help="leave out those that only `make verify` catches"
    )
    asked = parser.parse_args(arguments)
    every = load()
    mutants = chosen(every, asked.names, asked.only_short)
    if asked.list:
        for mutant in mutants:
            print(f"{mutant.family:11} {mutant.name}{' (long)' if mutant.long else ''}")
        return 0
    wrong = problems(every)
    if wrong or not mutants:
        print("\n".join(wrong) or "no mutant has such a name")
        return 2
    with tempfile.TemporaryDirectory(prefix="dphist-mutants-") as folder:
        return _run(mutants, Path(folder).resolve(), asked.jobs)


def _run(mutants: list[Mutant], folder: Path, jobs: int) -> int:
    start = time.monotonic()
    base = copy_repository(folder / "unmutated")
    failed = run_unmutated(mutants, base, jobs)
    if failed:
        print("\n".join(failed))
        print("tests of the mutants fail on the code as it is; nothing was planted")
        return 2
    print(f"without a mutant all tests pass ({time.monotonic() - start:.0f} s)", flush=True)
    found = []
    for result in run_mutants(mutants, base, jobs):
        found.append(result)
        print(
            f"{result.verdict:6} {result.mutant.name:55} {result.seconds:6.1f} s  {result.by}",
            flush=True,
        )
    for verdict in ("missed", "broken"):
        for result in found:
            if result.verdict == verdict:
                print(f"{verdict}: {result.mutant.name}: {result.mutant.learns}")
    numbers = [
        f"{sum(result.verdict == verdict for result in found)} {verdict}"
        for verdict in ("caught", "missed", "broken")
    ]
    print(f"{', '.join(numbers)} in {time.monotonic() - start:.0f} s")
    return 0 if all(result.verdict == "caught" for result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
