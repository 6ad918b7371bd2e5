"""The measuring half of tables: it sees counts, pays, and draws noise."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from dphist.arrays import IntArray
from dphist.data.guard import refuse_guarded
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.mechanism import MechanismBase, provenance_of_unit
from dphist.noise import Source, rounded_gaussian
from dphist.privacy import ZCDP, ApproxZCDP, PrivacyUnit
from dphist.release.release import Release
from dphist.release.released import refuse_released
from dphist.tables.contrasts import contrasts_of, measure_all
from dphist.tables.discover_keys import DiscoverKeys
from dphist.tables.discovery import LabelSearch, make_search
from dphist.tables.found import write_found
from dphist.tables.keyed_counts import KeyedCounts, accept_counts, bounds_of
from dphist.tables.keys import Keys, Names
from dphist.tables.lattice import Lattice, Table, subsets
from dphist.tables.law import choose_scales, largest_rho, lattice_of, places_of


class TablesMeasuring(MechanismBase):
    """What sees the data: `docs/understand/proofs/tables.md`."""

    __slots__ = ()

    rho: Fraction | None
    epsilon: Fraction | None
    delta: Fraction | None
    keys: Keys
    tables: tuple[Names, ...]
    max_rows: int
    weights: tuple[Fraction, ...] | None
    errors: tuple[Fraction, ...] | None

    @property
    def _unit(self) -> PrivacyUnit:
        """What is protected: at most `max_rows` records."""
        return PrivacyUnit("record", self.max_rows)

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP:
        """What a release costs a unit that adds or removes at most `max_rows` records."""
        failing = self.delta_of_finding
        if failing:
            return ApproxZCDP(self.rho_of_all, failing, self._unit)
        return ZCDP(self.rho_of_all, self._unit)

    @property
    def rho_of_all(self) -> Fraction:
        """The rho of a whole release, for a unit with all of its rows."""
        if self.rho is not None:
            return self.rho
        assert self.epsilon is not None and self.delta is not None  # noqa: S101, PT018
        return largest_rho(self.epsilon, self.delta - self.delta_of_finding)

    @property
    def delta_of_finding(self) -> Fraction:
        """The delta with which values of keys are found; 0 where all are listed.

        All of it where rho is given, and half of that of a total.
        """
        if not self.keys.discovering or self.delta is None:
            return Fraction(0)
        return self.delta if self.epsilon is None else self.delta / 2

    @property
    def rho_of_tables(self) -> Fraction:
        """The rho of the tables themselves: that of all, without the shares for finding values."""
        shares = sum((search.share for search in self._discovering.values()), Fraction(0))
        return self.rho_of_all * (1 - shares)

    @property
    def rho_of_row(self) -> Fraction:
        """The rho of one record for the tables: that of a unit over the square of its rows."""
        return self.rho_of_tables / self.max_rows**2

    @property
    def _discovering(self) -> dict[str, DiscoverKeys]:
        """The keys whose values are found, by name."""
        return {key.name: key.discover for key in self.keys if key.discover is not None}

    @property
    def searches(self) -> dict[str, LabelSearch]:
        """How values of keys are found, by the names of these keys."""
        asked = self._discovering
        rho, rows = self.rho_of_all, self.max_rows
        return {
            name: make_search(
                rho * key.share, self.delta_of_finding / len(asked), rows, key.max_found
            )
            for name, key in asked.items()
        }

    @property
    def places(self) -> tuple[Table, ...]:
        """Each table asked as one of the lattice; several may be the same one."""
        return places_of(self.keys.shape, self.keys.names, self.tables)

    @property
    def lattice(self) -> Lattice:
        """The tables that are measured, over keys with at least two values."""
        return lattice_of(self.keys.shape, self.places)

    @property
    def scales(self) -> Mapping[Table, Fraction]:
        """sigma_A of each table of the lattice: one record pays at most `rho_of_row` for all."""
        return choose_scales(
            self.keys.shape, self.places, self.rho_of_row, self.weights, self.errors
        )

    @property
    def kept(self) -> tuple[int, ...]:
        """The positions of the keys with at least two values, which the lattice is over."""
        return tuple(i for i, size in enumerate(self.keys.shape) if size > 1)

    @final
    def release(self, counts: Any, source: Source | None = None) -> Release:
        """Release the tables: the only place that sees data and draws noise.

        Parameters
        ----------
        counts : KeyedCounts, or whole numbers with a dimension for each key
            Of plain numbers the bound is the caller's promise: it is the mechanism's.
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release
            Its `value` is KeyedTables, `total` their number of all records, `noisy` the noisy
            contrasts of each table, and the values found of keys as numbers.

        Raises
        ------
        ParameterError
            If `counts` is no such data, or has other keys than the mechanism.
        BoundsError
            If the counts were made with more `max_rows` than this mechanism protects.
        """
        refuse_guarded(counts)
        refuse_released(counts, "counts")
        data = accept_counts(counts, self.keys)
        self.accept(data)
        noisy = self._measure(data, source)
        return self._given_out(
            self.decode(noisy),
            counts,
            source,
            total=self.total_of(noisy),
            noisy=noisy,
            provenance=provenance_of_unit(data) | bounds_of(data.unlisted),
        )

    def with_found(self, found: Mapping[str, tuple[str, ...]]) -> Self:
        """Return the mechanism of the tables, once values of all keys are known.

        It pays what finding them left: `rho_of_tables`, whatever was found.
        """
        return type(self)(
            rho=self.rho_of_tables,
            keys=self.keys.with_found(found),
            tables=self.tables,
            max_rows=self.max_rows,
        )

    def _find_and_measure(self, data: KeyedCounts, source: Source | None) -> dict[str, IntArray]:
        """Return the values found, as numbers, and the noisy contrasts of tables by these."""
        found = self._find(data, source)
        own = self.with_found(found)
        return write_found(found) | own._measure(data.with_found(own.keys), source)

    def _find(self, data: KeyedCounts, source: Source | None) -> dict[str, tuple[str, ...]]:
        """Return the values found of each key whose values nobody listed."""
        found = {}
        for name, search in self.searches.items():
            rho = self.rho_of_all * self._discovering[name].share
            if not search.costs_at_most(rho, self.max_rows):
                raise RuntimeError("finding values costs more than the release states")
            found[name] = search.find(*data.rows_by_label(name), source)
        return found

    def total_of(self, noisy: Mapping[str, IntArray]) -> int:
        """Return the number of all records by the noisy contrasts, at least 0."""
        return max(int(noisy[name_of((), self.keys, self.kept)][0]), 0)

    def accept(self, data: KeyedCounts) -> None:
        """Refuse data with other keys, or a bound that is not protected; both are public."""
        if not self.keys.same_cells(data.keys):
            raise ParameterError(
                "keys",
                "must be those that the data were counted by, in the same order",
                "give the mechanism keys=counts.keys",
            )
        if data.max_rows > self.max_rows:
            raise BoundsError(
                "the table was counted with "
                + Argument("max_rows", data.max_rows)
                + f", more than the mechanism's {self.max_rows}; give the mechanism "
                + Argument("max_rows", data.max_rows)
            )

    def _measure(self, data: KeyedCounts, source: Source | None) -> dict[str, IntArray]:
        """Return the noisy contrasts of each table of the lattice, flat: each is drawn once."""
        if self._discovering:
            return self._find_and_measure(data, source)
        lattice, scales, kept = self.lattice, self.scales, self.kept
        if not lattice.costs_at_most(scales, self.rho_of_row):
            raise RuntimeError("the scales of the noise cost more than the release states")
        noisy: dict[Table, IntArray] = {}
        for table in lattice.maximal:
            exact = measure_all(data.sum_over(tuple(kept[i] for i in table)))
            for part in subsets(table):
                if part in noisy:
                    continue
                # Row 0 of a key that the part has not is the sum over it.
                block = tuple(slice(1, None) if i in part else 0 for i in table)
                noisy[part] = add_noise(exact[block], lattice, part, scales[part], source)
        return {name_of(part, self.keys, kept): noisy[part].ravel() for part in lattice.family}


def add_noise(
    exact: IntArray, lattice: Lattice, table: Table, scale: Fraction, source: Source | None
) -> IntArray:
    """Return the contrasts of a table with rounded Gaussian noise.

    A contrast gets standard deviation `scale` times the lengths of its rows, rounded up.

    Parameters
    ----------
    exact : int64 with a dimension for each key of the table, of n - 1.
    """
    noisy = np.empty_like(exact)
    alike: dict[Fraction, list[Any]] = defaultdict(list)
    for groups in itertools.product(*(contrasts_of(lattice.shape[i]).groups() for i in table)):
        length = math.prod((length for length, _ in groups), start=Fraction(1))
        alike[length].append(np.ix_(*(rows - 1 for _, rows in groups)) if groups else ())
    for length, blocks in alike.items():
        true = np.concatenate([exact[block].ravel() for block in blocks])
        found = rounded_gaussian(scale * length, len(true), source) + true
        start = 0
        for block in blocks:
            shape = noisy[block].shape
            stop = start + math.prod(shape)
            noisy[block] = found[start:stop].reshape(shape)
            start = stop
    return noisy


def name_of(table: Table, keys: Keys, kept: tuple[int, ...]) -> str:
    """Return the name of a table's noisy contrasts in a release: its keys; empty for the total."""
    return "+".join(keys.names[kept[i]] for i in table)
