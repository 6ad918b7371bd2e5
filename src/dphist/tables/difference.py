"""What two releases of the same tables say of each cell."""

from itertools import product

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.differing import (
    BOTH,
    INTERVALS,
    UNKNOWN_BOUNDING,
    Bounds,
    Differing,
    check_same,
)
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.charts import list_texts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Names

_COLUMNS = ("table", "before", "after", "change", "low", "high", "stands")
_NEARLY = (
    "A cell has an interval by the normal law with the exact error of its sum of noise: nearly "
    "right, and not proved."
)
_NEARLY_PURE = (
    "A cell of tables without a delta has an interval by the wider of the normal law and that of "
    "one draw of geometric noise, with the exact error of its sum of noise: nearly right, and not "
    "proved."
)


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the same cells."""
    first, second = before.value, after.value
    if not first.keys.same_cells(second.keys):
        raise ParameterError(
            BOTH, "must have the same keys and values; otherwise their cells are other cells"
        )
    check_same("step", first.step, second.step)
    check_same("tables", {*first.tables}, {*second.tables})
    for bound in ("max_rows", "one_row_per", "weights"):
        check_same(bound, *(each.provenance.get(bound) for each in (before, after)))
    for name in first.keys.names:
        if name in _COLUMNS:
            raise UnsupportedError(
                f"a difference has a column {name!r} of its own: release tables of keys with other "
                "names"
            )
    tables = first.tables
    old, new = (_counts(value, tables) for value in (first, second))
    bounded = [UNKNOWN_BOUNDING for each in (before, after) if "max_rows" in each.provenance]
    return Differing(
        places=_places(first),
        before=old,
        after=new,
        bounds=lambda level: (_bounds(first, tables, level), _bounds(second, tables, level)),
        tests=old.size,
        correction=Sentence("Bonferroni over all {n:,} cells", n=old.size),
        holds=[INTERVALS, *_laws(first, second), *_outside(before, after), *_sums(first, second)],
        noun="cell",
        joint=", ",
        proved=False,
        bounding=bounded,
    )


def _laws(*values: KeyedTables) -> list[str]:
    """Return by which laws cells have intervals."""
    pure = {value.reach.rate is not None for value in values}
    return [said for said, of_pure in ((_NEARLY, False), (_NEARLY_PURE, True)) if of_pure in pure]


def _sums(*values: KeyedTables) -> list[str]:
    """Return that counts alone are compared, if a release has sums as well."""
    if not any(value.summed for value in values):
        return []
    return ["Counts are compared. Sums and means, which these tables have too, are not."]


def _outside(before: Release, after: Release) -> list[str]:
    """Return which releases left out rows outside the keys, which may be why a cell changed."""
    dropping = [each.provenance.get("unlisted") == "drop" for each in (before, after)]
    if not any(dropping) or all(key.other for key in before.value.keys):
        return []
    where = "Both releases" if all(dropping) else f"The release {BOTH[dropping.index(True)]}"
    verb = "leave" if all(dropping) else "leaves"
    return [
        f"{where} {verb} rows outside the keys out, such as those with a misspelled value: a "
        "change may come from how many rows lie outside."
    ]


def _counts(value: KeyedTables, tables: tuple[Names, ...]) -> FloatArray:
    return np.concatenate([value.table(*names).counts.ravel() for names in tables])


def _places(value: KeyedTables) -> dict[str, list[str]]:
    """Return the table and the values of the keys of each cell, empty for keys it does not have."""
    places: dict[str, list[str]] = {name: [] for name in ("table", *value.keys.names)}
    for names in value.tables:
        cells = list(product(*(list_texts(value.keys[name]) for name in names)))
        held = dict(zip(names, zip(*cells, strict=True), strict=True))
        places["table"] += ["+".join(names) or "all"] * len(cells)
        for name in value.keys.names:
            places[name] += held.get(name, [""] * len(cells))
    return places


def _bounds(value: KeyedTables, tables: tuple[Names, ...], level: float) -> Bounds:
    """Return intervals for the true counts of all cells, which are not negative."""
    reach = value.reach.of(level)
    shown = [value.table(*names) for names in tables]
    wide = reach * np.concatenate([each.errors.ravel() for each in shown])
    counts = np.concatenate([each.counts.ravel() for each in shown])
    return np.maximum(counts - wide, 0), np.maximum(counts + wide, 0)
