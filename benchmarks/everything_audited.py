"""Every mechanism of dphist, tables of every engine, streams and a ledger, audited.

usage: python -m benchmarks.everything_audited [--seconds 3600] [--write docs/guides/audit.md]
[NAME ...]

`--write` puts the table into a page, in place of its section of this heading. Exit code 1 if a
claim is refuted, or noise does not account for one.
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from dphist.lab.auditing.audit import audit
from dphist.lab.auditing.named import everything
from dphist.lab.auditing.result import AuditResult
from dphist.release.release import VERSION

HEADING = "## What an audit of dphist found"
WRONG = 0.001
COLUMNS = ("audited", "claim", "exact", "replay", "statistical", "ε at least", "runs")


def main() -> None:
    """Audit, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--seconds", type=float, default=3600, help="for all together")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    known = everything(slow=True)
    names = options.names or list(known)
    end, results = time.monotonic() + options.seconds, []
    for number, name in enumerate(names):
        made, pairs, epsilon, delta = known[name].make()
        share = max((end - time.monotonic()) / (len(names) - number), 0.1)
        result = audit(
            made,
            pairs,
            epsilon=epsilon,
            delta=delta,
            seconds=share,
            confidence=1 - WRONG / len(names),  # of all together
            layers=known[name].layers,
        )
        results.append((name, result))
        print(row(name, result), flush=True)
    text = section(results, options.seconds)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, _, rest = page.partition(HEADING)
        _, found, after = rest.partition("\n## ")
        options.write.write_text(f"{before}{text}{found}{after}", encoding="utf-8")
    sys.exit(any(each.refuted or each.objects for _, each in results))


def row(name: str, result: AuditResult) -> str:
    """Return a row of the table."""
    verdicts = {each.layer: each.verdict for each in result.layers}
    claim = f"({result.epsilon:g}, {result.delta:g})" if result.delta else f"{result.epsilon:g}"
    layers = [verdicts.get(layer, "") for layer in ("exact", "replay", "statistical")]
    shown = f"{result.epsilon_lower:.2f}", f"{result.samples:,}"
    return f"| {' | '.join((name, claim, *layers, *shown))} |"


def section(results: list[tuple[str, AuditResult]], seconds: float) -> str:
    """Return the section of the page."""
    refuted = sum(each.refuted for _, each in results)
    doubted = sum(each.objects for _, each in results)
    runs = sum(each.samples for _, each in results)
    lines = [
        HEADING,
        "",
        f"Version {VERSION}, {datetime.now(UTC):%Y-%m-%d}, {seconds:,.0f} seconds in all: of "
        f"{len(results)} claims {refuted} were refuted, and for {doubted} the noise\n"
        f"did not account. {runs:,} runs were counted. `make audit` makes this table.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
        *(row(name, result) for name, result in results),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
