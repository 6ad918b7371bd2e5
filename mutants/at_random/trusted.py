"""The trusted modules: the folders that a guarantee rests on, and the files of them left out."""

from fnmatch import fnmatch
from pathlib import Path

from mutants.catalogue import ROOT

_LIBRARY = Path("src", "dphist")
_FOLDERS: tuple[str, ...] = (
    "noise",
    "privacy",
    "counting",
    "data",
    "anonymized",
    "ranges",
    "labels",
    "streams",
)
_FOLDERS += ("ledger", "durable")

# Files that no guarantee rests on, or that the tests of `make test` do not run. The reason follows.
_LEFT_OUT = {
    "no secret is read: functions of noisy numbers, of public data or of parameters": (
        "anonymized/band.py anonymized/inference.py anonymized/reference.py "
        "anonymized/priv_hist/decoding.py anonymized/adaptive_scan/bands.py "
        "anonymized/adaptive_scan/blocks.py anonymized/adaptive_scan/decoding.py "
        "anonymized/adaptive_scan/refining.py anonymized/adaptive_scan/trend.py "
        "anonymized/partition_sampler/radius.py noise/magnitude.py noise/quantiles.py "
        "ranges/*/answers.py ranges/adaptive_tree/inference.py "
        "ranges/adaptive_tree/least_squares.py ranges/adaptive_tree/pooled_weights.py "
        "ranges/adaptive_tree/share_prior.py ranges/bars.py ranges/consistency.py "
        "ranges/nonnegative.py ranges/reference.py noise/sums.py privacy/delta_worth.py"
    ),
    "words and views of a ledger": (
        "ledger/history.py ledger/table.py ledger/signing.py data/diagram.py"
    ),
    "progress and resources": (
        "counting/engine/progress.py counting/engine/resources.py "
        "counting/engine/threads.py counting/engine/interruptible.py"
    ),
    "Spark, which `make verify` runs": (
        "counting/engine/spark.py counting/reading/spark*.py counting/binning/spark_slots.py"
    ),
    "only imports": "*__init__.py",
}


def left_out() -> list[str]:
    """Return the patterns of files, below the library's folder, that are left out."""
    return [pattern for patterns in _LEFT_OUT.values() for pattern in patterns.split()]


def trusted_files(root: Path = ROOT) -> list[str]:
    """Return the paths of the trusted modules, relative to the repository and in order."""
    library = root / _LIBRARY
    inside = [
        path.relative_to(library) for each in _FOLDERS for path in library.glob(f"{each}/**/*.py")
    ]
    return sorted(
        (_LIBRARY / path).as_posix()
        for path in inside
        if not any(fnmatch(path.as_posix(), pattern) for pattern in left_out())
    )
