"""What an audit finds in the suite of broken mechanisms and their correct twins.

usage: python -m benchmarks.audit [--seconds 60] [NAME ...]
"""

import argparse

from dphist.lab.auditing.audit import audit
from dphist.lab.auditing.suite import ENTRIES


def main() -> None:
    """Print a row for each mechanism."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--seconds", type=float, default=60, help="for each mechanism")
    options = parser.parse_args()
    print("| mechanism | claim | truth | refuted | epsilon at least | power | seconds |")
    print("|---|---|---|---|---|---|---|")
    found, faulty, alarms = 0, 0, 0
    for each in ENTRIES:
        if options.names and each.name not in options.names:
            continue
        result = audit(
            each.run, each.pairs, epsilon=each.epsilon, delta=each.delta, seconds=options.seconds
        )
        claim = f"({each.epsilon}, {float(each.delta):g})" if each.delta else str(each.epsilon)
        power = "" if result.power is None or result.refuted else f"{result.power:.2f}"
        says = "yes" if result.refuted else "no"
        print(
            f"| {each.name} | {claim} | {each.truth} | {says} | {result.epsilon_lower:.2f} | "
            f"{power} | {result.seconds:.1f} |",
            flush=True,
        )
        faulty += each.faulty
        found += each.faulty and result.refuted
        alarms += not each.faulty and result.refuted
    print(f"\n{found} of {faulty} faulty ones refuted; {alarms} correct ones refuted.")


if __name__ == "__main__":
    main()
