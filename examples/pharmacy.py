"""A pharmacy's sales as they happen: which drugs are common by now, day by day, across restarts.

    python examples/pharmacy.py STATE OUTPUT_FOLDER

Makes up a day of purchases, each a set of drugs, feeds them to the stream that is kept in the file
STATE, and releases its counts. Run it again for the next day, and again: the stream goes on where
it was, also after a crash in the middle of a day. After 30 days OUTPUT_FOLDER has a page that shows
the month. All days together cost (epsilon, delta) = (1, 1e-6) for one purchase.

--kill ends the process in the middle of the day without a warning, as a power cut would.
"""

import argparse
import os
import random
import signal
import sys
from pathlib import Path

import dphist as dh

DAYS, PURCHASES, AT_ONCE, SHOWN = 30, 2_000, 50, 5
DRUGS = [f"drug {number:03}" for number in range(300)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("state", metavar="STATE", type=Path)
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--kill", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        sell_a_day(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def sell_a_day(chosen: argparse.Namespace) -> None:
    # Everything about the stream is settled, and may be published, before the first purchase.
    settled = dh.calibrate(
        dh.ContinualMechanism,
        epsilon=1,
        delta="1e-6",
        horizon=DAYS * PURCHASES,
        max_labels=2,  # a purchase counts for at most two drugs
        readings=DAYS,
    )
    with dh.ContinualHistogram.open(chosen.state, mechanism=settled) as stream:
        day = stream.time // PURCHASES
        while stream.time < (day + 1) * PURCHASES:  # of this day, which a crash may have cut
            stream.update_many([purchase() for _ in range(AT_ONCE)])
            if chosen.kill and stream.time % PURCHASES == PURCHASES // 2:
                os.kill(os.getpid(), signal.SIGKILL)
        release = stream.release()
    tell(release)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    release.save(chosen.folder / "drugs.json")
    dh.write_report(release, chosen.folder / "drugs.html")


def purchase() -> list[str]:
    """One to four drugs, a few of which are bought far more often than others."""
    chance = random.SystemRandom()
    return [DRUGS[int(300 * chance.random() ** 4)] for _ in range(chance.randint(1, 4))]


def tell(release: dh.Release) -> None:
    """Print what was released. All of it may be published; the state may not."""
    counts = release.value
    error = 1.96 * release.mechanism.standard_error
    print(f"Day {len(counts)}, {counts.times[-1]:,} purchases: {len(counts.latest)} drugs listed")
    for label, count in list(zip(counts.latest.labels, counts.latest.counts, strict=True))[:SHOWN]:
        print(f"  {label}: {count:,} ± {error:.0f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
