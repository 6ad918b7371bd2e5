"""Whole, non-negative numbers that add up in all tables at once: post-processing of noisy tables.

Three steps. Interactions of keys are shrunk towards independence, cell by cell, as far as they are
within their noise. Each table is projected onto tables that are not negative and have the total.
Then records are made up whose counts come close to these tables: counts of records are whole, and
add up in all tables. One table that has all others in it needs no records: its cells are rounded.
Each step leaves cells empty that are impossible (`dphist.tables.impossible`).
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Never

import numpy as np
import pyarrow as pa

from dphist.arrays import FloatArray, IntArray
from dphist.errors import UnsupportedError
from dphist.release.tabular import Released, Tabular
from dphist.tables.cells import MADE_WHOLE, WholeTable, label_columns, refuse_errors
from dphist.tables.conditions import variances_of_part
from dphist.tables.impossible import Rules
from dphist.tables.lattice import Table, subsets
from dphist.tables.nearest import project, project_to_known, round_in_order, round_to_known

if TYPE_CHECKING:
    from dphist.tables.keyed_tables import KeyedTables

MOST_RECORDS = 2**24
_SWEEPS = (5, 10)  # of repair; the step falls within each
_STEP = 0.9
_ROUNDS, _AT_ONCE = 200, 1000
_MADE_UP = {
    "made_up": "These records are made up: their counts are about those of released tables."
}


_Wanted = tuple[tuple[int, ...], FloatArray]
"""Columns of records, and the counts that they should have."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WholeTables(Released):
    """Tables of whole, non-negative numbers that add up, made of released ones. Not secret.

    They are closer to the truth than the unbiased tables where counts are small, and biased: they
    have no intervals.

    Attributes
    ----------
    source : KeyedTables
        The unbiased tables, with their errors.
    places : (d, k) int64, the values of the k keys that a table has, of each group of records.
    counts : (d,) int64, how many records there are of each group.
    used : the positions of these keys.
    """

    source: "KeyedTables"
    places: IntArray
    counts: IntArray
    used: Table

    @property
    def total(self) -> int:
        """The number of all records."""
        return int(self.counts.sum())

    def table(self, *names: str) -> WholeTable:
        """Return the table with these keys, in this order: whole numbers, without errors.

        Raises
        ------
        ParameterError
            If no table asked has these keys together.
        """
        asked = self.source.find_places(names)
        shape = tuple(self.source.keys.keys[i].size for i in asked)
        found: IntArray = np.zeros(math.prod(shape), np.int64)
        cells: IntArray = np.zeros(len(self.counts), np.int64)
        for i, size in zip(asked, shape, strict=True):
            cells *= size
            if i in self.used:  # a key with one value is not
                cells += self.places[:, self.used.index(i)]
        np.add.at(found, cells, self.counts)
        keys = tuple(self.source.keys.keys[i] for i in asked)
        return WholeTable(keys, found.reshape(shape))

    def count(self, /, **where: Any) -> int:
        """Return the number of records that satisfy all conditions: see `KeyedTables.count`."""
        weights = self.source.weights_where(where)
        kept = np.ones(len(self.counts), np.bool_)
        for i, wanted in weights.items():
            if i in self.used:
                kept &= wanted[self.places[:, self.used.index(i)]] > 0
            elif not wanted.any():
                kept[:] = False
        return int(self.counts[kept].sum())

    def interval(self, *_: object, **__: object) -> Never:
        """Refuse: whole numbers are biased, and no interval of the noise holds the truth."""
        refuse_errors()

    error = interval

    def to_records(self) -> "MadeUpRecords":
        """Return made-up records, a row each, in random order: their counts are these tables.

        They stand for nobody. Combinations of keys that no table asked has together are no more
        than a guess.

        Raises
        ------
        UnsupportedError
            If there are more than 2**24 records.
        """
        if self.total > MOST_RECORDS:
            raise UnsupportedError(f"at most {MOST_RECORDS:,} records are made up: use the tables")
        repeated = np.repeat(np.arange(len(self.counts)), self.counts)
        order = make_generator(self.source).permutation(len(repeated))
        return MadeUpRecords(self, self.places[repeated[order]])

    def to_arrow(self) -> pa.Table:
        """Return all tables asked, one after the other, as `KeyedTables.to_arrow` does."""
        parts = []
        for names in self.source.tables:
            shown = self.table(*names).to_arrow()
            named = pa.array(["+".join(names)] * len(shown), pa.string())
            parts.append(shown.add_column(0, "table", named))
        whole = pa.concat_tables(parts, promote_options="default")
        order = [column for key in self.source.keys for column in label_columns(key)]
        shown = whole.select(["table", *(n for n in order if n in whole.column_names), "count"])
        return shown.replace_schema_metadata(MADE_WHOLE)

    def __eq__(self, other: object) -> bool:
        """Whether they were made of the same released tables, of which they follow."""
        if not isinstance(other, WholeTables):
            return NotImplemented
        return self.source == other.source

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        tables = ", ".join("+".join(names) or "total" for names in self.source.tables)
        return f"WholeTables({tables}; {self.total:,} records, whole numbers without intervals)"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MadeUpRecords(Tabular):
    """Made-up records whose counts are the whole tables. They stand for nobody.

    Attributes
    ----------
    tables : WholeTables
    places : (records, k) int64, the values of the keys of each.
    """

    tables: WholeTables
    places: IntArray

    def __len__(self) -> int:
        return len(self.places)

    def to_arrow(self) -> pa.Table:
        """Return a column for each key of a table, and for those with one value; two of bins.

        The schema's metadata say "made_up".
        """
        columns: dict[str, pa.Array] = {}
        used = self.tables.used
        for i, key in enumerate(self.tables.source.keys):
            if i in used or key.size == 1:
                alone = np.zeros(len(self), np.int64)  # every record has that value
                places = self.places[:, used.index(i)] if i in used else alone
                for name, values in label_columns(key).items():
                    columns[name] = values.take(pa.array(places))
        return pa.table(columns).replace_schema_metadata(_MADE_UP)

    def __repr__(self) -> str:
        return f"MadeUpRecords({len(self):,}, made up from released tables)"


def make_whole(tables: "KeyedTables") -> WholeTables:
    """Return whole, non-negative numbers for released tables; see `KeyedTables.to_whole_numbers`.

    Raises
    ------
    UnsupportedError
        If there are more than 2**24 records, and no table has all others in it.
    """
    keys = tables.keys.keys
    asked = [tuple(i for i in tables.find_places(t) if keys[i].size > 1) for t in tables.tables]
    maximal = [t for t in dict.fromkeys(asked) if not any({*t} < {*other} for other in asked)]
    used = tuple(sorted({i for t in maximal for i in t}))
    total = max(round(tables.total), 0)
    if not used or not total:
        counts = np.array([total] if total else [], np.int64)
        return WholeTables(tables, np.zeros((len(counts), len(used)), np.int64), counts, used)
    parts = shrink(tables, maximal)
    if len(maximal) == 1:
        target = _fit(tables, parts, used, total)
        counts = round_to_known(target, tables.known, used, total)
        cells = np.flatnonzero(counts)
        places = np.array(np.unravel_index(cells, target.shape), np.int64).T
        return WholeTables(tables, places, counts[cells], used)
    if total > MOST_RECORDS:
        raise UnsupportedError(
            f"whole numbers of several tables are made for at most {MOST_RECORDS:,} records; ask "
            "for one table with all keys, or use the unbiased tables"
        )
    targets = {t: _fit(tables, parts, t, total) for t in maximal}
    records = make_up(tables, targets, parts, used, total)
    places, counts = np.unique(records, axis=0, return_counts=True)
    return WholeTables(tables, places.astype(np.int64), counts.astype(np.int64), used)


def make_generator(tables: "KeyedTables") -> np.random.Generator:
    """Return random numbers that depend on the released contrasts alone.

    So the whole numbers of a release are the same each time. No secret is drawn: this is
    post-processing, and needs no random bits that are hard to guess.
    """
    digest = hashlib.sha256()
    for table in sorted(tables.contrasts):
        digest.update(str(table).encode())
        digest.update(np.ascontiguousarray(tables.contrasts[table], "<i8").tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest()[:16], "big"))


def shrink(tables: "KeyedTables", maximal: Sequence[Table]) -> Mapping[Table, FloatArray]:
    """Return the part of each set of keys, shrunk towards independence of the keys.

    Of two keys or more, a part differs from that of independent keys by d, of which the noise has
    variance v in each cell. If differences have variance lambda times the expected count E, the
    best estimate of one is d lambda E / (lambda E + v); lambda is what the differences have beyond
    their noise, and 0 if that is nothing. With `ranges`, v is that of each cell.
    """
    total = max(tables.total, 1.0)
    found: dict[Table, FloatArray] = {}
    for table in sorted({part for t in maximal for part in subsets(t)}, key=len):
        plain = tables.part(table)
        if len(table) < 2 or not tables.variances[table]:
            found[table] = plain
            continue
        margins = [np.maximum(tables.compute_cells((i,)), 0) for i in table]
        expected = reduce(np.multiply.outer, [m / max(m.sum(), 1e-9) for m in margins]) * total
        base = center(expected)
        off = plain - base
        alone = variances_of_part(table, table, {table: 1.0}, tables.noise_along)
        noise = tables.variances[table] * alone
        excess = float((off**2).sum()) - float(np.mean(noise)) * off.size
        factor = max(excess / max(float(expected.sum()), 1e-9), 0.0)
        kept = off * (factor * expected) / (factor * expected + noise)
        found[table] = base + center(kept)
    return found


def center(cells: FloatArray) -> FloatArray:
    """Return cells less their means along each axis."""
    for axis in range(cells.ndim):
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return cells


def _lift(tables: "KeyedTables", parts: Mapping[Table, FloatArray], table: Table) -> FloatArray:
    """Return a table: the sum of the parts of all of its sets of keys, spread over the others."""
    sizes = {i: tables.keys.keys[i].size for i in table}
    found = np.zeros([sizes[i] for i in table])
    for part in subsets(table):
        shape = [sizes[i] if i in part else 1 for i in table]
        found += parts[part].reshape(shape) / math.prod(sizes[i] for i in table if i not in part)
    return found


def _fit(
    tables: "KeyedTables", parts: Mapping[Table, FloatArray], table: Table, total: int
) -> FloatArray:
    """Return a table that is not negative, is 0 in impossible cells, and has a total."""
    cells = _lift(tables, parts, table)
    if tables.known is not None:
        return project_to_known(cells, tables.known, table, tables.impossible)
    if tables.impossible is None:
        return project(cells, total)
    possible = ~tables.impossible.mark(table)
    found = np.zeros_like(cells)
    found[possible] = project(cells[possible], total)
    return found


def _polish(
    records: IntArray, wanted: Sequence[_Wanted], rules: Rules, draw: np.random.Generator
) -> None:
    """Give records the value of one key with which all tables are nearer to their targets.

    By least squares: a record that leaves a cell with surplus a for one with surplus b changes the
    sum of squares by 2 (b - a) + 2, which is added up over the tables that have the key. In one
    round no two records leave or enter one cell, so their changes add up.
    """
    surplus = []
    for columns, target in wanted:
        code = np.ravel_multi_index(tuple(records[:, c] for c in columns), target.shape)
        counts = np.bincount(code, minlength=target.size).reshape(target.shape)
        surplus.append(counts - target)
    size = min(len(records), _AT_ONCE)
    for _ in range(_ROUNDS):
        for column in range(records.shape[1]):
            having = [place for place, (columns, _) in enumerate(wanted) if column in columns]
            some = draw.choice(len(records), size, replace=False)
            held = records[some]
            change = np.zeros((size, 1))
            for place in having:
                columns = wanted[place][0]
                others = tuple(held[:, c] for c in columns if c != column)
                along = np.moveaxis(surplus[place], columns.index(column), -1)
                change = change + along[others]
            own = change[np.arange(size), held[:, column]] - len(having)
            rules.forbid(held, column, change)
            best = np.argmin(change, axis=1).astype(records.dtype)
            moved = np.flatnonzero(change[np.arange(size), best] < own)
            after = held.copy()
            after[:, column] = best
            for place in having:
                for rows in (held, after):
                    moved = moved[_first_of_each(rows[moved], wanted[place])]
            for place in having:
                columns = wanted[place][0]
                for rows, sign in ((held, -1), (after, 1)):
                    surplus[place][tuple(rows[moved][:, c] for c in columns)] += sign
            records[some[moved], column] = best[moved]


def _first_of_each(rows: IntArray, wanted: _Wanted) -> IntArray:
    """Return the places of the first row in each cell of a table."""
    columns, target = wanted
    code = np.ravel_multi_index(tuple(rows[:, c] for c in columns), target.shape)
    found: IntArray = np.unique(code, return_index=True)[1]
    return found


def make_up(
    tables: "KeyedTables",
    targets: Mapping[Table, FloatArray],
    parts: Mapping[Table, FloatArray],
    used: Table,
    total: int,
) -> IntArray:
    """Return made-up records whose counts come close to all targets, (total, keys).

    They are drawn from the tables of single keys. Then, for one table after the other, surplus
    records of its cells become records of cells with too few: half by copying a record that is
    there, half by changing the values of the table's keys. No record is ever impossible.
    """
    draw = make_generator(tables)
    columns = []
    for i in used:
        alone = _fit(tables, parts, (i,), total)
        values = np.repeat(np.arange(alone.size, dtype=np.int32), round_in_order(alone, total))
        columns.append(draw.permutation(values))
    records = np.stack(columns, axis=1)
    rules = Rules.of(tables.impossible, used)
    rules.correct(records, draw)
    wanted = [(tuple(used.index(i) for i in t), target) for t, target in targets.items()]
    for sweeps in _SWEEPS:
        for sweep in range(sweeps):
            for place in draw.permutation(len(wanted)).tolist():
                _repair(records, wanted[place], _STEP**sweep, rules, draw)
    _polish(records, wanted, rules, draw)
    return records.astype(np.int64)


def _repair(
    records: IntArray,
    wanted: _Wanted,
    step: float,
    rules: Rules,
    draw: np.random.Generator,
) -> None:
    """Move records from cells with too many to those with too few, in place."""
    columns, target = wanted
    want, total = target.ravel(), len(records)
    code = np.ravel_multi_index(tuple(records[:, c] for c in columns), target.shape)
    code = code.astype(np.uint16 if want.size < 2**16 else np.int64)
    have = np.bincount(code, minlength=want.size)
    under = np.maximum(want - have, 0)
    if under.sum() < 1:
        return
    take = np.floor(np.maximum(have - want, 0) * step + draw.random(want.size)).astype(np.int64)
    order = draw.permutation(total)
    order = order[np.argsort(code[order], kind="stable")]
    first = np.cumsum(have) - have
    rank = np.arange(total) - first[code[order]]
    moved = order[rank < take[code[order]]]
    if not len(moved):
        return
    ends = np.cumsum(under)
    marks = (np.arange(len(moved)) + draw.random()) / len(moved) * ends[-1]
    cells = np.minimum(np.searchsorted(ends, marks), want.size - 1)
    copied = (have[cells] > 0) & (draw.random(len(moved)) < 0.5)
    within = (draw.random(len(moved)) * np.maximum(have[cells], 1)).astype(np.int64)
    source = order[np.minimum(first[cells] + within, total - 1)]
    before = records[moved]
    records[moved[copied]] = records[source[copied]]
    values = np.unravel_index(cells[~copied], target.shape)
    for column, value in zip(columns, values, strict=True):
        records[moved[~copied], column] = value
    back = rules.find(records[moved])
    records[moved[back]] = before[back]
