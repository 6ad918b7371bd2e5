"""Which audit finds what: every tool on every mechanism of the suite, with equal time.

python -m benchmarks.auditors [--seconds 60] [--tools NAME ...] [MECHANISM ...]
"""

import argparse
import time

from benchmarks.auditors.dpsniper import dpsniper
from benchmarks.auditors.histogram import histogram
from benchmarks.auditors.ours import dphist
from benchmarks.auditors.renyi import renyi
from benchmarks.auditors.statdp import statdp
from benchmarks.auditors.task import Task, Tool, Verdict
from dphist.lab.auditing.suite import ENTRIES, Entry

TOOLS: dict[str, tuple[Tool, str]] = {
    "dphist": (dphist, "dphist"),
    "histogram": (histogram, "histogram tester¹"),
    "renyi": (renyi, "Rényi tester¹"),
    "statdp": (statdp, "StatDP¹"),
    "dpsniper": (dpsniper, "DP-Sniper¹"),
}


def main() -> None:
    """Print a row for each mechanism."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", nargs="+", metavar="MECHANISM", help="default: all")
    parser.add_argument("--seconds", type=float, default=60, help="for each tool and mechanism")
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    options = parser.parse_args()
    if options.processor_time:
        time.monotonic = time.process_time  # by which all of them measure
    tools = {name: TOOLS[name] for name in options.tools}
    heads = " | ".join(head for _, head in tools.values())
    print(f"| mechanism | claim | truth | {heads} |")
    print("|---|---|---|" + "---|" * len(tools))
    found = dict.fromkeys(tools, 0)
    alarms = dict.fromkeys(tools, 0)
    entries = [each for each in ENTRIES if not options.names or each.name in options.names]
    entries.sort(key=lambda each: not each.faulty)
    for entry in entries:
        cells = []
        for name, (tool, _) in tools.items():
            begun = time.monotonic()
            verdict = tool(Task.of(entry, options.seconds))
            cells.append(_cell(verdict, time.monotonic() - begun))
            found[name] += entry.faulty and verdict.refuted
            alarms[name] += not entry.faulty and verdict.refuted
        print(
            f"| {entry.name} | {_claim(entry)} | {entry.truth} | {' | '.join(cells)} |", flush=True
        )
    faulty = sum(each.faulty for each in entries)
    counted = " | ".join(f"**{found[name]} of {faulty}**" for name in tools)
    print(f"| **faulty ones refuted** | | | {counted} |")
    counted = " | ".join(f"**{alarms[name]} of {len(entries) - faulty}**" for name in tools)
    print(f"| **correct ones refuted** | | | {counted} |")


def _claim(entry: Entry) -> str:
    return f"({entry.epsilon}, {float(entry.delta):g})" if entry.delta else str(entry.epsilon)


def _cell(verdict: Verdict, seconds: float) -> str:
    if not verdict.applies:
        return "no test"
    bound = "" if verdict.epsilon is None else f" {verdict.epsilon:.2f},"
    return f"{'**yes**' if verdict.refuted else 'no'}{bound} {seconds:.1f} s"


if __name__ == "__main__":
    main()
