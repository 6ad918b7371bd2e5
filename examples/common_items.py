"""Which items many customers buy, from a list of purchases: a saved release and a table.

    python examples/common_items.py data/items_online_retail.parquet OUTPUT_FOLDER

The file has one row for each purchase (Parquet, CSV or TSV, the latter also .gz or .zst), with
the customer and the item in the columns `customer` and `item`; --user and --label name others.
The release costs (epsilon, delta) = (1, 1e-6). OUTPUT_FOLDER gets `items.json` and `items.csv`.

What is protected is one customer with all their purchases. Nobody listed the items beforehand:
an item that one customer alone bought would betray that customer by being listed at all. So every
customer counts for at most --max-labels items, chosen at random, every item gets noise, and an
item is listed if its noisy count is above a threshold that is known before any data are read.
"""

import argparse
import sys
from pathlib import Path

import dphist as dh

SHOWN = 10


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("purchases", metavar="PURCHASES", type=Path)
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--label", default="item", metavar="COLUMN")
    parser.add_argument("--user", default="customer", metavar="COLUMN")
    parser.add_argument("--max-labels", default=50, type=int, metavar="N")
    chosen = parser.parse_args(arguments)
    try:
        release_items(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def release_items(chosen: argparse.Namespace) -> None:
    # Everything about the mechanism is settled, and may be published, before data are read.
    mechanism = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=1,
        delta="1e-6",
        max_labels=chosen.max_labels,
        noise="gaussian",
    )
    purchases = dh.LabelCounts.from_table(
        chosen.purchases, label=chosen.label, user=chosen.user, max_labels=chosen.max_labels
    )
    release = mechanism.release(purchases)

    chosen.folder.mkdir(parents=True, exist_ok=True)
    release.save(chosen.folder / "items.json")
    release.to_csv(chosen.folder / "items.csv")
    tell(release, chosen.folder)


def rows(release: dh.Release) -> list[tuple[object, int]]:
    """The released items with their noisy counts, the largest first."""
    return list(zip(release.value.labels, release.value.counts.tolist(), strict=True))


def tell(release: dh.Release, folder: Path) -> None:
    """Print what was released. All of it may be published; the file and its counts may not."""
    mechanism = release.mechanism
    print(f"Guarantee: {release.guarantee}")
    print(f"  that is {mechanism.target}")
    print(f"  for one customer, who counts for at most {mechanism.max_labels} items")
    print(f"Threshold: {float(mechanism.threshold):.1f} customers")
    print(f"Items listed: {len(release.value)}")
    for label, count in rows(release)[:SHOWN]:
        print(f"  {label}: {count} ± {1.96 * float(mechanism.noise_scale):.0f}")
    print(f"Written: {folder / 'items.json'}, {folder / 'items.csv'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
