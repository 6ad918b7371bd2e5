"""Two teams and one budget for the customers of a shop: releases that are paid for from a ledger.

    python examples/ledger.py data/items_online_retail.parquet OUTPUT_FOLDER

The file has one row for each purchase (Parquet, CSV or TSV, the latter also .gz or .zst), with
the customer and the item in the columns `customer` and `item`. OUTPUT_FOLDER gets `shop.ledger`,
`items.json` and `ranking.json`, and whatever a further run adds.

All releases together reveal at most (epsilon, delta) = (2, 1e-6) about one customer. Marketing may
spend half of that. Each release is charged durably before the purchases are opened. Run it again:
the same keys return the stored releases, and nothing more is spent. --epsilon asks marketing for
one more release of items, which is refused if it does not fit: exit code 3, and nothing is charged.
"""

import argparse
import sys
from pathlib import Path

import dphist as dh
from dphist.ledger import Deferred

UNIT = "one customer"
MAX_LABELS = 50
TOTAL = {"epsilon": 2, "delta": "1e-6"}
REFUSED = 3


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("purchases", metavar="PURCHASES", type=Path)
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--epsilon", metavar="E", help="of one more release of items")
    chosen = parser.parse_args(arguments)
    try:
        with ledger_of(chosen.folder) as ledger:
            release_all(ledger, chosen)
            tell(ledger)
    except dh.BudgetError as error:
        print(f"refused: {error}", file=sys.stderr)
        return REFUSED
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def ledger_of(folder: Path) -> dh.Ledger:
    """Open the shop's ledger; the first run makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "shop.ledger"
    if place.exists():
        return dh.Ledger.open(place)
    ledger = dh.Ledger.create(place, **TOTAL, unit=UNIT, dataset="purchases of a shop")
    ledger.allow("marketing", epsilon=1)
    return ledger


def release_all(ledger: dh.Ledger, chosen: argparse.Namespace) -> None:
    bounds = {"max_labels": MAX_LABELS}
    counting = {**bounds, "noise": "gaussian"}
    items = dh.calibrate(dh.ThresholdHistogram, epsilon="0.9", delta="2e-7", **counting)
    ranking = dh.calibrate(dh.TopLabels, epsilon="0.5", delta="1e-7", k=5, candidates=100, **bounds)
    # The purchases are opened after they were paid for, and only if a release is not stored yet.
    purchases = Deferred(lambda: counts_of(chosen.purchases), UNIT, MAX_LABELS)
    planned = [
        ("items", items, "marketing", "which items sell"),
        ("ranking", ranking, "buying", "the first five items"),
    ]
    if chosen.epsilon is not None:
        more = dh.calibrate(dh.ThresholdHistogram, epsilon=chosen.epsilon, delta="1e-7", **counting)
        planned.append((f"items at {chosen.epsilon}", more, "marketing", "items once more"))
    for key, mechanism, by, note in planned:
        release = ledger.release(mechanism, purchases, by=by, key=key, note=note)
        release.save(chosen.folder / f"{key.replace(' ', '-')}.json")
        entry, found = release.provenance["entry"], len(release.value)
        print(f"{key}: {found} labels, paid by {by} with entry {entry}")


def counts_of(path: Path) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(
        path, label="item", user="customer", max_labels=MAX_LABELS, unit=UNIT
    )


def tell(ledger: dh.Ledger) -> None:
    """Print what was spent, and check the whole ledger."""
    account, marketing = ledger.balance(), ledger.balance(by="marketing")
    print(f"Budget: {account.budget}, for {ledger.accounts[0].unit}")
    print(f"Left for a pure release: epsilon {float(account.largest_epsilon):.3f}")
    print(f"  for marketing: epsilon {float(marketing.largest_epsilon):.3f}")
    print(f"Verified: {ledger.verify()} entries")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
