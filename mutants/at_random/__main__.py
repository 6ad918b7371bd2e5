"""`python -m mutants.at_random`: make small random changes of the trusted modules, one at a time.

Each change runs the quickest tests that execute its line, and what survives them all others. A run
that was stopped is continued by the same command: results are kept by the code and the seed.
"""

import argparse
import hashlib
import random
import secrets
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from mutants.at_random.changes import Change, changes_of
from mutants.at_random.coverage_map import make_map, test_paths
from mutants.at_random.forked import CollectedTests, share
from mutants.at_random.results import Results
from mutants.at_random.running import Runner
from mutants.at_random.trusted import trusted_files
from mutants.catalogue import ROOT, load

_KEPT = Path("~/.cache/dphist-mutants-at-random")
_QUICK_SECONDS = 20  # of a processor; the quickest tests take 8


def draw_changes(seed: int, number: int, root: Path = ROOT) -> list[Change]:
    """Return the first changes of a random order of all: more of them continue the same order."""
    every = [
        change
        for path in trusted_files(root)
        for change in changes_of(path, (root / path).read_text())
    ]
    random.Random(seed).shuffle(every)  # noqa: S311
    return every[:number]


def digest_code(root: Path = ROOT) -> str:
    """Return a digest of the library and its tests, so that results belong to one state of both."""
    digest = hashlib.sha256()
    for path in sorted([*(root / "src").rglob("*.py"), *(root / "tests").rglob("*.py")]):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return 0."""
    parser = argparse.ArgumentParser(prog="python -m mutants.at_random", description=__doc__)
    parser.add_argument("--seed", type=int, help="of the random order (default: a new one)")
    parser.add_argument("--changes", type=int, default=400, help="how many (default: 400)")
    parser.add_argument(
        "--seconds",
        type=int,
        default=300,
        help="processor time for all tests of one (default: 300)",
    )
    parser.add_argument(
        "--kept", type=Path, default=_KEPT, help=f"folder of results (default: {_KEPT})"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes that run tests (default: 2)")
    parser.add_argument(
        "--as-mapped", action="store_true", help="use the map of a run that was stopped as it is"
    )
    parser.add_argument("--list", action="store_true", help="list the changes, and run none")
    asked = parser.parse_args(arguments)
    seed = secrets.randbelow(10**6) if asked.seed is None else asked.seed
    drawn = draw_changes(seed, asked.changes)
    folder = asked.kept.expanduser() / digest_code()
    print(f"seed {seed}, {len(drawn)} changes, results in {folder}", flush=True)
    if asked.list:
        print("\n".join(map(str, drawn)))
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    tests = make_map(folder, asked.jobs, as_it_is=asked.as_mapped)
    file = folder / f"seed-{seed}.jsonl"
    # Not a `TemporaryDirectory`: each fork would remove it when it exits.
    scratch = Path(tempfile.mkdtemp(prefix="dphist-at-random-")).resolve()
    try:
        copies = [scratch / f"copy-{job}" for job in range(asked.jobs)]
        for copy in copies:
            shutil.copytree(tests.code, copy, symlinks=True)
        collected = CollectedTests(tests.code)
        limits = (_QUICK_SECONDS, asked.seconds)
        runners = [Runner(copy, tests, collected, load(), limits) for copy in copies]

        def run() -> None:
            for every in (False, True):
                _run(drawn, file, runners, every)

        collected.collect(test_paths(tests.code), run)
    finally:
        shutil.rmtree(scratch)
    print_summary(drawn, Results(file))
    return 0


def _run(drawn: list[Change], file: Path, runners: list[Runner], every: bool) -> None:
    """Run what was not run, with the quickest tests of each change or with all."""
    results = Results(file)
    left = [change for change in drawn if _is_left(results, change, every)]

    def run(worker: int, task: int) -> None:
        outcome = runners[worker].run(left[task], every)
        results.add(outcome)
        print(outcome, flush=True)

    share(len(left), len(runners), run)


def _is_left(results: Results, change: Change, every: bool) -> bool:
    quick = results.find(change, every=False)
    survived = quick is not None and quick.verdict in ("survived", "endless")
    return results.find(change, every) is None and (survived or not every)


def print_summary(drawn: list[Change], results: Results) -> None:
    """Print the numbers, and each change that no test saw."""
    outcomes = [found for change in drawn if (found := results.last(change)) is not None]
    for outcome in outcomes:
        if outcome.verdict in ("survived", "not run"):
            print(outcome)
    counts = Counter(outcome.verdict for outcome in outcomes)
    print(", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))


if __name__ == "__main__":
    sys.exit(main())
