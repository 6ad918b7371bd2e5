"""RegionTree: public regions within regions, whose leaves hold the data of a regional profile."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from dphist.errors import InputFileError, ParameterError
from dphist.foreign import read_text, refuse_header
from dphist.parameters import whole_number
from dphist.visible import visible

RegionPath: TypeAlias = tuple[str, ...]
"""A region by its names from the top down."""

MAX_LEAVES = 2**16
MAX_LEVELS = 16
_LONGEST = 200  # letters of a name
_HOW = "such as {'North': ['Bern', 'Basel'], 'South': ['Lugano']}, or a list of leaves"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RegionTree:
    """Regions within regions; all leaves are at the same depth.

    The tree is public: it must be fixed without looking at the data. Regions have no order beyond
    that in which they are listed.

    Attributes
    ----------
    leaves : each leaf by its names from the top down; those of one region stand together.

    >>> tree = RegionTree({"North": ["Bern", "Basel"], "South": ["Lugano"]})
    >>> tree.level(0), tree.level(1)[0], tree.depth
    ((('North',), ('South',)), ('North', 'Bern'), 2)
    >>> tree.find("Lugano")
    ('South', 'Lugano')
    """

    leaves: tuple[RegionPath, ...]
    _spans: dict[RegionPath, range] = field(compare=False)
    _named: dict[str, list[RegionPath]] = field(compare=False)
    _texts: dict[RegionPath, str] = field(compare=False)

    def __init__(self, regions: Any) -> None:
        """Read a tree.

        Parameters
        ----------
        regions : mapping of names of regions to what they consist of, down to lists of leaves; or
            a list of leaves; or a list of paths from the top down; or another tree. Names are text
            or whole numbers, which are held as text.

        Raises
        ------
        ParameterError
            If leaves are at different depths, two have the same name, or regions lie in each other.
        """
        paths = regions.leaves if isinstance(regions, RegionTree) else [*_read_paths(regions)]
        leaves = _check_paths(paths)
        tables = _make_tables(leaves)
        _check_texts(tables[2].values())
        _check_loops(leaves)
        names = ("leaves", "_spans", "_named", "_texts")
        for name, held in zip(names, (leaves, *tables), strict=True):
            object.__setattr__(self, name, held)

    @classmethod
    def read(cls, path: str | Path, column: str | None = None) -> "RegionTree":
        """Read a public file without a header: a line a leaf, its name, then those of its regions.

        A line is ``leaf,...,top``: the name of the leaf, then of the region that it lies in, and
        so on to the top.

        Parameters
        ----------
        column : that holds the leaves; a first line that begins with its name is a header.

        Raises
        ------
        InputFileError
            If it is missing or is no CSV in UTF-8, or has a header.
        ParameterError
            If its lines make no tree.
        """
        try:
            text = read_text(Path(path).read_bytes())
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except (OSError, ValueError, csv.Error):
            rows = []
        if not rows:
            raise InputFileError(
                f"{path} must be a CSV file (UTF-8) without a header, a line a leaf: its name, "
                "then those of the regions that it lies in, up to the top"
            )
        refuse_header(str(path), rows[0][0], column)
        try:
            return cls([row[::-1] for row in rows])
        except ParameterError as error:
            raise error.within(f"{path}: ", "") from None

    @property
    def depth(self) -> int:
        """The number of levels."""
        return len(self.leaves[0])

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """The names of leaves, each different, in their order."""
        return tuple(leaf[-1] for leaf in self.leaves)

    @property
    def regions(self) -> tuple[RegionPath, ...]:
        """All regions, the top level first."""
        return tuple(path for level in range(self.depth) for path in self.level(level))

    def level(self, level: int) -> tuple[RegionPath, ...]:
        """Return the regions of a level: 0 is the top, and the last one has the leaves.

        Raises
        ------
        ParameterError
            If there is no such level.
        """
        length = whole_number(level, "level", 0, self.depth - 1) + 1
        return tuple(dict.fromkeys(leaf[:length] for leaf in self.leaves))

    def find(self, region: Any) -> RegionPath:
        """Return the path of a region.

        Parameters
        ----------
        region : its name, if no other region has it; or its names from the top down, as a tuple.

        Raises
        ------
        ParameterError
            If there is none, or several have the name.
        """
        if isinstance(region, tuple):
            path = tuple(map(str, region))
            if path in self._spans:
                return path
            raise ParameterError("region", "must be the names of a region from the top down")
        found = self._named.get(str(region), ())
        if len(found) == 1:
            return found[0]
        if found:
            raise ParameterError(
                "region",
                f"must be given by its path: {len(found)} regions have this name",
                f"such as {found[0]!r}",
            )
        raise ParameterError("region", "must be a region of the tree", "see regions")

    def name(self, path: RegionPath) -> str:
        """Return what a region is called in tables: its name if it is the only one, else its path.

        >>> tree = RegionTree({"Bern": ["Bern", "Thun"]})
        >>> [tree.name(path) for path in tree.regions]
        ['Bern', 'Bern/Bern', 'Thun']
        """
        return self._texts[path]

    def span(self, path: RegionPath) -> range:
        """Return the places of the leaves of a region, or of the empty path: all."""
        return self._spans[path]

    def count_siblings(self, path: RegionPath) -> tuple[int, ...]:
        """Return how many leaves of a region lie right in each region above leaves, in order.

        >>> RegionTree({"North": ["Bern", "Basel"], "South": ["Lugano"]}).count_siblings(())
        (2, 1)
        """
        own = self.span(path)
        return tuple(Counter(leaf[:-1] for leaf in self.leaves[own.start : own.stop]).values())

    def to_content(self) -> list[list[str]]:
        """Return the paths of leaves as lists, for saving; the constructor takes them."""
        return [list(leaf) for leaf in self.leaves]

    def __reduce__(self) -> tuple[Any, ...]:
        return RegionTree, (self.to_content(),)

    def __repr__(self) -> str:
        levels = " > ".join(f"{len(self.level(level)):,}" for level in range(self.depth))
        return f"RegionTree({levels} {'leaf' if len(self.leaves) == 1 else 'leaves'})"


def _make_tables(
    leaves: Sequence[RegionPath],
) -> tuple[dict[RegionPath, range], dict[str, list[RegionPath]], dict[RegionPath, str]]:
    """Return the places of leaves by path, paths by name, and texts by path."""
    index: dict[RegionPath, range] = {(): range(len(leaves))}
    for length in range(1, len(leaves[0]) + 1):
        for place, leaf in enumerate(leaves):
            start = index[leaf[:length]].start if leaf[:length] in index else place
            index[leaf[:length]] = range(start, place + 1)
    named: dict[str, list[RegionPath]] = {}
    for path in index:
        if path:
            named.setdefault(path[-1], []).append(path)
    texts = {p: p[-1] if len(named[p[-1]]) == 1 else "/".join(p) for p in index if p}
    return index, named, texts


def _read_paths(regions: Any, above: RegionPath = ()) -> Iterator[RegionPath]:
    """Yield the leaves of what a caller gave, by their names from the top down."""
    if len(above) >= MAX_LEVELS:
        raise ParameterError("regions", f"must have at most {MAX_LEVELS} levels")
    if isinstance(regions, Mapping):
        for name, within in regions.items():
            yield from _read_paths(within, (*above, _check_name(name)))
        return
    if isinstance(regions, str | bytes) or not isinstance(regions, Sequence):
        raise ParameterError("regions", "must be a tree of public names", _HOW)
    for each in regions:
        if isinstance(each, list | tuple) and not above:
            yield tuple(map(_check_name, each))
        else:
            yield (*above, _check_name(each))


def _check_name(name: Any) -> str:
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST or visible(name) != name:
        raise ParameterError(
            "regions",
            f"must have names that are one line of printable text of at most {_LONGEST} letters, "
            "or whole numbers",
        )
    return name


def _check_paths(paths: Sequence[RegionPath]) -> tuple[RegionPath, ...]:
    """Return paths with the leaves of each region together, in the order of their first ones."""
    if not 1 <= len(paths) <= MAX_LEAVES:
        raise ParameterError("regions", f"must have 1 to {MAX_LEAVES:,} leaves", _HOW)
    if len({len(path) for path in paths}) > 1 or not 1 <= len(paths[0]) <= MAX_LEVELS:
        raise ParameterError(
            "regions",
            "must have all leaves at the same depth",
            "give a region without parts one part that is all of it",
        )
    names = [path[-1] for path in paths]
    if len(set(names)) < len(names):
        raise ParameterError(
            "regions",
            "must have leaves with different names, as the data name the leaf alone",
            "make the names different in the tree and in the data",
        )
    first: dict[RegionPath, int] = {}
    for place, path in enumerate(paths):
        for length in range(1, len(path) + 1):
            first.setdefault(path[:length], place)
    ordered = sorted(paths, key=lambda path: [first[path[: k + 1]] for k in range(len(path))])
    return tuple(ordered)


def _check_texts(texts: Collection[str]) -> None:
    """Refuse regions that tables could not distinguish."""
    if len(set(texts)) < len(texts):
        raise ParameterError(
            "regions",
            "must have names without / where several have one name: these are told by the names "
            "above them, joined by /",
        )


def _check_loops(leaves: Sequence[RegionPath]) -> None:
    """Refuse regions that lie in each other by their names, as in a file with swapped columns.

    A region may hold one of its own name, such as a city in its canton.
    """
    above: dict[str, set[str]] = {}
    for leaf in leaves:
        for outer, inner in pairwise(leaf):
            if outer != inner:
                above.setdefault(inner, set()).add(outer)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        one, other, *_ = error.args[1]
        raise ParameterError(
            "regions",
            f"must not lie in each other: {one!r} has {other!r} within, and lies in it",
            "give them different names",
        ) from None
