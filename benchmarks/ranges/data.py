"""Histograms over ordered bins, as they are and resampled to other numbers of records.

Every `*.csv` of the folder "ranges" (`benchmarks.data`) with a column `count`, one bin a row, and
every `*.csv.gz` with columns `row`, `col` and `count`, cells without records left out.
"""

import csv
import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.data import folder

IntArray: TypeAlias = npt.NDArray[np.int64]

OWN = "own"
SIDE = 256  # cells a side of every grid


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A histogram by the name of its file; counts are (bins,) or (SIDE, SIDE) int64, records."""

    name: str
    counts: IntArray

    @property
    def axes(self) -> int:
        """Dimensions of the domain, 1 or 2."""
        return self.counts.ndim

    @property
    def digest(self) -> str:
        """Name the content, whatever file it came from."""
        content = np.ascontiguousarray(self.counts, dtype="<i8").tobytes()
        return hashlib.sha256(content + str(self.counts.shape).encode()).hexdigest()[:12]

    def at(self, scale: str, run: int) -> IntArray:
        """Return the counts themselves, or as many records as `scale` says, drawn from them.

        The same for every contender and epsilon, so that these are compared on equal data.
        """
        if scale == OWN or not self.counts.any():
            return self.counts
        records = int(scale)
        generator = np.random.default_rng([zlib.crc32(self.name.encode()), records, run])
        shares = self.counts.ravel() / self.counts.sum()
        drawn = generator.multinomial(records, shares)
        return drawn.astype(np.int64).reshape(self.counts.shape)


def read_shapes(axes: int) -> list[Shape]:
    """Return the histograms over so many axes of the folder there is, by name."""
    place = folder("ranges")
    if place is None:
        raise SystemExit("no folder ranges/: name the folder that has it in DPHIST_DATA")
    files = sorted(place.glob("*.csv" if axes == 1 else "*.csv.gz"))
    return [_line(path) if axes == 1 else _grid(path) for path in files]


def _line(path: Path) -> Shape:
    with path.open(newline="") as file:
        counts = [int(row["count"]) for row in csv.DictReader(file)]
    return _checked(path.name.removesuffix(".csv"), np.array(counts, np.int64))


def _grid(path: Path) -> Shape:
    counts = np.zeros((SIDE, SIDE), np.int64)
    with gzip.open(path, "rt", newline="") as file:
        for line in csv.DictReader(file):
            row, col = int(line["row"]), int(line["col"])
            if not (0 <= row < SIDE and 0 <= col < SIDE):
                raise SystemExit(f"{path.name}: row and col must be from 0 to {SIDE - 1}")
            counts[row, col] += int(line["count"])
    return _checked(path.name.removesuffix(".csv.gz"), counts)


def _checked(name: str, counts: IntArray) -> Shape:
    if counts.size == 0 or counts.min() < 0 or counts.sum() == 0:
        raise SystemExit(f"{name}: there must be records, and no negative counts")
    return Shape(name, counts)
