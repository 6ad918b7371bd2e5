"""The audit of dphist on other libraries, each under a Python that has it.

    python -m benchmarks.audit_others --diffprivlib PYTHON [--opendp PYTHON] [--pipelinedp PYTHON]
                                      [--smartnoise PYTHON] [--dpsynth PYTHON]
                                      [--seconds 20] [--turns 2]
                                      [--names CASE ...]

docs/understand/audit-others.md says how to install them. Each case is audited `--turns` times, in
processes of their own with fresh randomness; a claim counts as refuted only if each of these
refutes it.
"""

import argparse
import json
import subprocess
from typing import Any

import dphist as dh
from dphist.lab.auditing.subject import command

LIBRARIES = ("opendp", "diffprivlib", "pipelinedp", "smartnoise", "dpsynth")


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", nargs="+", metavar="CASE", help="default: all")
    for name in LIBRARIES:
        parser.add_argument(f"--{name}", metavar="PYTHON")
    parser.add_argument("--seconds", type=float, default=20, help="for each turn")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    print("| case | claim | refuted | epsilon at least | runs | event |")
    print("|---|---|---|---|---|---|")
    for library in LIBRARIES:
        python = getattr(options, library)
        if python is None:
            continue
        program = [python, "-m", f"benchmarks.audit_others.{library}_cases"]
        for name in _answer(program):
            if not options.names or name in options.names:
                about = _answer([*program, name, "about"])
                print(_row(name, about, [*program, name], options), flush=True)


def _answer(program: list[str]) -> Any:
    return json.loads(subprocess.run(program, capture_output=True, check=True).stdout)


def _audited(about: Any, program: list[str], seconds: float) -> dh.AuditResult:
    run = command(program, lines=True)
    run(about["pairs"][0][1])  # it has imported its library when the time begins
    claim = {"epsilon": about["epsilon"], "delta": about["delta"]}
    return dh.audit(run, about["pairs"], **claim, seconds=seconds)


def _row(name: str, about: Any, program: list[str], options: argparse.Namespace) -> str:
    turns = [_audited(about, program, options.seconds) for _ in range(options.turns)]
    claim = f"{about['epsilon']:.4g}"
    if about["delta"]:
        claim = f"({claim}, {about['delta']:.3g})"
    times = sum(each.refuted for each in turns)
    says = (
        "**yes**"
        if times == len(turns)
        else "no"
        if not times
        else f"{times} of {len(turns)} times"
    )
    bounds = ", ".join(f"{each.epsilon_lower:.2f}" for each in turns)
    runs = ", ".join(f"{each.samples:,}" for each in turns)
    best = max(turns, key=lambda each: each.epsilon_lower)
    seen = (
        f"{best.event} ({best.hits:,} and {best.other_hits:,} of {best.runs:,}; {best.neighbours})"
    )
    event = seen.replace("|", "/").replace("\n", " ") if times else about["says"]
    return f"| {about['version']}: {name} | {claim} | {says} | {bounds} | {runs} | {event} |"


if __name__ == "__main__":
    main()
