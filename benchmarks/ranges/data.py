"""Histograms over ordered bins, as they are and resampled to other numbers of records.

Every `*.csv` of the folder "ranges" (`benchmarks.data`) with a column `count`, one bin a row, and
every `*.csv.gz` with columns `row`, `col` and `count`, cells without records left out.
"""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.data import folder
from dphist.arrays import IntArray
from dphist.errors import DphistError
from dphist.ranges.comparing.case import read_bins

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


def read_shapes(axes: int, files: Sequence[Path] = ()) -> list[Shape]:
    """Return the histograms over so many axes of the folder there is, by name, and of files.

    Parameters
    ----------
    files : further ones, of either form; those over another number of axes are passed over.
    """
    place = folder("ranges")
    if place is None and not files:
        raise SystemExit("no folder ranges/: name the folder that has it in DPHIST_DATA, or files")
    pattern = "*.csv" if axes == 1 else "*.csv.gz"
    found = [] if place is None else [_shape(path, SIDE) for path in sorted(place.glob(pattern))]
    return [shape for shape in [*found, *map(_shape, files)] if shape.axes == axes]


def _shape(path: Path, side: int | None = None) -> Shape:
    """Read a histogram; a grid of no known side becomes a square whose side is a power of two."""
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    try:
        counts = read_bins(path, side)
    except DphistError as error:
        raise SystemExit(f"{name}: {error}") from None
    if counts.ndim == 2:
        wide = 1 << (max(counts.shape) - 1).bit_length()
        counts = np.pad(counts, [(0, wide - size) for size in counts.shape])
    if counts.sum() == 0:
        raise SystemExit(f"{name}: there must be records")
    return Shape(name, counts)
