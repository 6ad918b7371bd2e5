"""Count a table in several processes, each its own users, then release the sums.

    python examples/count_in_parts.py data/items_online_retail.parquet OUTPUT_FOLDER

The file has the customer and the item of each purchase in the columns `customer` and `item`. Each
process reads all of it and counts the customers of its part. The parts are files in OUTPUT_FOLDER:
they hold exact counts and are removed after the release. On several machines, each one runs
`count_part` for its number, and one of them merges the files. With `--dask`, Dask runs the parts
(`pip install dask`).
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import dphist as dh

MAX_LABELS = 50


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("purchases", metavar="PURCHASES", type=Path)
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--parts", default=4, type=int, metavar="N")
    parser.add_argument("--dask", action="store_true", help="let Dask run the parts")
    chosen = parser.parse_args(arguments)
    try:
        chosen.folder.mkdir(parents=True, exist_ok=True)
        release_parts(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def release_parts(chosen: argparse.Namespace) -> None:
    mechanism = dh.calibrate(
        dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=MAX_LABELS, noise="gaussian"
    )
    count = partial(count_part, chosen.purchases, chosen.folder, chosen.parts)
    run = with_dask if chosen.dask else with_processes
    files: list[Path] = []
    try:
        files = run(count, chosen.parts)
        counts = dh.LabelCounts.merge(files)
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    release = mechanism.release(counts)
    release.save(chosen.folder / "items.json")
    print(f"Guarantee: {mechanism.target}, for one customer")
    print(f"Items listed: {len(release.value)}")


def count_part(purchases: Path, folder: Path, parts: int, part: int) -> Path:
    """Count the customers of one part, and write the exact counts to a file."""
    counted = dh.LabelCounts.partial(
        purchases, label="item", user="customer", max_labels=MAX_LABELS, part=part, parts=parts
    )
    file = folder / f"part-{part}.parquet"
    counted.save(file)
    return file


def with_processes(count: "partial[Path]", parts: int) -> list[Path]:
    # "spawn": a forked process would share locks of libraries that this one has started.
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(count, range(parts)))


def with_dask(count: "partial[Path]", parts: int) -> list[Path]:
    import dask

    return list(dask.compute(*map(dask.delayed(count), range(parts)), scheduler="processes"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
