"""LabelCells: which labels the rows of cells have, for keys whose values are to be found."""

import math
from dataclasses import dataclass

import numpy as np

from dphist.arrays import IntArray
from dphist.counting import LARGEST
from dphist.data.guard import Secret
from dphist.errors import ParameterError
from dphist.tables.keys import OTHER, Keys
from dphist.tables.lattice import Table

_EXACT_FLOATS = 2**53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelCells(Secret):
    """The labels of the rows in each cell, by key. Secret: even which labels there are.

    Attributes
    ----------
    labels : for each key whose values are to be found, the labels that occur, ascending: texts of
        UTF-8 that are not "other". So nothing about them can fail once noise is drawn.
    places : (d, keys) int64, read-only; the label of the rows in each cell, -1 for those of none.
    """

    labels: tuple[tuple[str, ...], ...]
    places: IntArray
    _IN_PLACE_OF_AN_ARRAY = (
        "labels must be passed to Tables in their KeyedCounts: an array would lose their bounds"
    )

    def __post_init__(self) -> None:
        held = self.places
        if not isinstance(held, np.ndarray) or held.dtype != np.int64 or held.ndim != 2:
            raise ParameterError("places", "must be a two-dimensional array of int64")
        sizes = [len(own) for own in self.labels]
        fit = held.shape[1] == len(sizes) and (held >= -1).all() and (held < [sizes]).all()
        if not fit or not all(map(_are_ascending_texts, self.labels)):
            raise ParameterError("places", "must be places of ascending labels, one a key")
        for own, column in zip(self.labels, held.T, strict=True):
            # A label of no row would be drawn noise for, as if a row had it.
            if not np.bincount(column[column >= 0], minlength=len(own)).all():
                raise ParameterError("labels", "must be those that occur")
        held = held.copy()
        held.setflags(write=False)
        object.__setattr__(self, "places", held)

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, key: int, counts: IntArray) -> IntArray:
        """Return the rows of each label of a key, at most 2**62 - 1, from those of the cells."""
        places = self.places[:, key]
        own = places >= 0
        return sum_clamped(places[own], counts[own], len(self.labels[key]))

    def places_among(self, key: int, found: tuple[object, ...]) -> IntArray:
        """Return the place of the label of each cell among those found; their number for others."""
        at = {label: place for place, label in enumerate(found)}
        known = [at.get(label, len(found)) for label in self.labels[key]]
        places: IntArray = np.array([*known, len(found)], np.int64)[self.places[:, key]]
        return places

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelCells):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.places, other.places)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["LabelCells"], tuple[object, ...]]:
        """Copy and unpickle through the constructor, which makes everything read-only."""
        return LabelCells, (self.labels, self.places)

    def __repr__(self) -> str:
        return f"LabelCells(of {len(self)} keys; not shown)"


def _are_ascending_texts(labels: tuple[object, ...]) -> bool:
    """Whether these are texts that a release can name, each once, ascending."""
    texts = [label for label in labels if isinstance(label, str) and label != OTHER]
    if len(texts) < len(labels) or sorted({*texts}) != texts:
        return False
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def sum_clamped(places: IntArray, counts: IntArray, size: int) -> IntArray:
    """Return the sum of the counts at each of `size` places, at most 2**62 - 1.

    Refusing larger sums would reveal something about all records.
    """
    if float(counts.sum(dtype=np.float64)) < _EXACT_FLOATS / 2:  # these sums are exact
        return np.bincount(places, counts, size).astype(np.int64)
    sums = np.zeros(size, object)
    np.add.at(sums, places, counts.astype(object))
    return np.minimum(sums, LARGEST).astype(np.int64)


def find_places(cells: IntArray, shape: tuple[int, ...], table: Table) -> IntArray:
    """Return the cell of a table that each cell of all keys is in.

    Parameters
    ----------
    shape : the number of values of each key.
    table : the positions of its keys, ascending.
    """
    places: IntArray = np.zeros(len(cells), np.int64)
    for i in table:
        places *= shape[i]
        places += cells // math.prod(shape[i + 1 :]) % shape[i]
    return places


def place_found(cells: IntArray, keys: Keys, found: Keys, held: LabelCells) -> IntArray:
    """Return the cells by keys of which those that were to be found now have values.

    Parameters
    ----------
    cells : by the keys whose values are listed.
    keys, found : before their values were found, and after.
    held : the labels of each cell.
    """
    own = [1 if key.discover is not None else key.size for key in keys]
    columns, placed = iter(range(len(held))), np.zeros(len(cells), np.int64)
    for i, key in enumerate(keys):
        if key.discover is None:
            places = cells // math.prod(own[i + 1 :]) % own[i]
        else:
            places = held.places_among(next(columns), found.keys[i].values)
        placed = placed * found.shape[i] + places
    return placed


def check_labels(held: LabelCells | None, keys: Keys, cells: int) -> None:
    """Refuse labels that are not those of the keys whose values are to be found.

    Parameters
    ----------
    cells : the number of cells, each of which has a place among the labels.

    Raises
    ------
    ParameterError
    """
    several = len(keys.discovering)
    if (held is not None) != bool(several) or (held is not None and len(held) != several):
        raise ParameterError("labels", "must be those of the keys whose values are to be found")
    if held is not None and len(held.places) != cells:
        raise ParameterError("labels", "must have a place for each of the cells")
