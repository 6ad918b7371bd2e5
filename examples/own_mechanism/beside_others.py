"""`GeometricBins` beside every mechanism for ranges: flights from New York by hour of 2013.

    python examples/own_mechanism/beside_others.py OUTPUT_FOLDER [--seconds 30]

The flights are public, so they may be looked at: a comparison is not private. OUTPUT_FOLDER gets
`compared.csv`, which a second run goes on from, and `compared.png`.
"""

import argparse
from pathlib import Path

from geometric_bins import GeometricBins

import dphist as dh

FLIGHTS = Path(__file__).parents[2] / "data" / "departures_nyc.parquet"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    counts = dh.bin_counts(
        FLIGHTS, column="departure", start="2013-01-01", stop="2014-01-02", width="1d"
    )
    found = dh.compare(
        [GeometricBins],
        counts,
        epsilons=[1, 0.1],
        published=True,
        seconds=chosen.seconds,
        output=chosen.folder / "compared.csv",
    )
    print(found)
    found.plot()[0].figure.savefig(chosen.folder / "compared.png")


if __name__ == "__main__":
    main()
