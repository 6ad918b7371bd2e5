"""The measuring half of tables: it sees counts, pays, and draws noise."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Self, final

from dphist.arrays import IntArray
from dphist.data.guard import refuse_guarded
from dphist.data.weight import count_steps, state_weight
from dphist.errors import ParameterError
from dphist.mechanism import MechanismBase, provenance_of_unit
from dphist.noise import Source, two_sided_geometric
from dphist.privacy import ZCDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.privacy.exchanged import exchange_by_steps
from dphist.release.release import Release
from dphist.release.tabular import refuse_released
from dphist.tables.accepting import accept_counts, check_accepted, refuse_other_data
from dphist.tables.cell_sums import Columns, SumsLaw, make_prefix
from dphist.tables.contrasts import measure_all, sum_over_axes
from dphist.tables.discover_keys import DiscoverKeys
from dphist.tables.discovery import LabelSearch, make_search
from dphist.tables.drawing import add_noise
from dphist.tables.found import write_found
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keys import Keys, Names
from dphist.tables.lattice import Lattice, Table, subsets
from dphist.tables.law import (
    choose_scales,
    largest_rho,
    locate_tables,
    make_lattice,
    rho_of_exchange,
    rho_of_first,
)
from dphist.tables.pure import PureLaw, choose_noise
from dphist.tables.row_bounds import state_bounds


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
    ranges: Names | None
    one_row_per: str | None
    step: Fraction | None
    sums: Columns | None
    sums_share: Fraction

    @property
    def _most(self) -> int:
        """What one unit adds at most, in what is counted: records, or steps of weights."""
        return count_steps(self.max_rows, self.step)

    @property
    def _unit(self) -> PrivacyUnit:
        """What is protected: at most `max_rows` records.

        With `one_row_per`, a user: that many records that may be alike would cost more.
        """
        if self.one_row_per is not None:
            return PrivacyUnit("user", bounds={"max_records": self.max_rows})
        return PrivacyUnit("record", self.max_rows)

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP | PureDP:
        """What a release costs a unit that adds or removes at most `max_rows` records."""
        pure, epsilon = self.pure, self.epsilon
        if pure is not None and epsilon is not None:
            return PureDP(epsilon, self._unit, pure.rho(epsilon, self._most))
        failing = self.delta_of_finding
        if failing:
            return ApproxZCDP(self.rho_of_all, failing, self._unit)
        return ZCDP(self.rho_of_all, self._unit)

    @property
    def pure(self) -> PureLaw | None:
        """The geometric noise of a release with epsilon alone; None with Gaussian noise."""
        if self.epsilon is None or self.delta is not None:
            return None
        return choose_noise(
            self.keys.shape, self.places, self.epsilon_of_row, self.weights, self.errors
        )

    @property
    def epsilon_of_row(self) -> Fraction:
        """The epsilon of one record, without a delta: that of a unit over its rows.

        Of weights that of one step, as all that is said here of a record.
        """
        assert self.epsilon is not None  # noqa: S101 - asked of geometric noise alone
        return self.epsilon / self._most

    @property
    def rho_of_all(self) -> Fraction:
        """The rho of a whole release with Gaussian noise, for a unit with all of its rows."""
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
        """The rho of the counts of tables: that of all, without the shares of what is beside them.

        These are finding values, or sums.
        """
        shares = sum((search.share for search in self._discovering.values()), Fraction(0))
        shares += self.sums_share if self.sums else 0
        return self.rho_of_all * (1 - shares)

    @property
    def exchanged(self) -> Guarantee | None:
        """What a release costs an exchange of a unit with at most `max_rows` records for another.

        With Gaussian noise on listed values it is less than group privacy knows
        (`docs/understand/proofs/exchanged.md`, Lemmas 4 and 5).
        """
        if self.sums:
            return exchange_by_steps(self.guarantee)
        if self.pure is not None or self.keys.discovering:
            return exchange_by_steps(self.guarantee)
        unit, rho = replace(self._unit, exchanged=True), self.rho_of_all
        if self.one_row_per is not None:
            return ZCDP(self.lattice.exchange_of_rows(self.scales, rho, self.max_rows), unit)
        of_row = rho_of_exchange(
            self.keys.shape,
            self.places,
            self.rho_of_row,
            self.weights,
            self.errors,
            self.ordered,
        )
        return ZCDP(of_row * self._most**2, unit)

    @property
    def rho_of_row(self) -> Fraction:
        """The rho of one record: that of a unit over the square of its rows, or `rows_cost`."""
        if self.one_row_per is None:
            return self.rho_of_tables / self._most**2
        return rho_of_first(
            self.keys.shape,
            self.places,
            self.rho_of_tables,
            self.weights,
            self.errors,
            self.max_rows,
            self._axis_of_rows,
        )

    @property
    def rows_cost(self) -> Fraction:
        """How many times the rho of one record a unit with all of its rows costs, at most."""
        return self.rho_of_tables / self.rho_of_row

    @property
    def _axis_of_rows(self) -> int | None:
        """The position in the lattice of the key on which rows differ; None with one value."""
        names = [self.keys.names[i] for i in self.kept]
        return names.index(self.one_row_per) if self.one_row_per in names else None

    def _costs_too_much(self) -> bool:
        """Whether Gaussian noise of `scales` would cost a unit more than the release states."""
        scales, rho = self.scales, self.rho_of_tables
        if not self.lattice.costs_at_most(scales, self.rho_of_row):
            return True
        if self.one_row_per is None:
            return self.rho_of_row * self._most**2 > rho
        return self.lattice.cost_of_rows(scales, rho, self.max_rows, self._axis_of_rows) > rho

    @property
    def _discovering(self) -> dict[str, DiscoverKeys]:
        """The keys whose values are found, by name."""
        return {key.name: key.discover for key in self.keys if key.discover is not None}

    @property
    def searches(self) -> dict[str, LabelSearch]:
        """How values of keys are found, by the names of these keys."""
        asked, rows = self._discovering, self.max_rows
        if not asked:
            return {}
        rho = self.rho_of_all
        return {
            name: make_search(
                rho * key.share, self.delta_of_finding / len(asked), rows, key.max_found
            )
            for name, key in asked.items()
        }

    @property
    def places(self) -> tuple[Table, ...]:
        """Each table asked as one of the lattice; several may be the same one."""
        return locate_tables(self.keys.shape, self.keys.names, self.tables)

    @property
    def lattice(self) -> Lattice:
        """The tables that are measured, over keys with at least two values."""
        return make_lattice(self.keys.shape, self.places, self.ordered)

    @property
    def scales(self) -> Mapping[Table, Fraction]:
        """sigma_A of each table of the lattice: one record pays at most `rho_of_row` for all.

        Of geometric noise those of `pure`.
        """
        pure = self.pure
        if pure is not None:
            return pure.scales
        return choose_scales(
            self.keys.shape,
            self.places,
            self.rho_of_row,
            self.weights,
            self.errors,
            self.ordered,
        )

    @property
    def sums_law(self) -> SumsLaw | None:
        """The noise of sums; None without them."""
        if not self.sums:
            return None
        rho = self.rho_of_all * self.sums_share / len(self.sums) / self.max_rows**2
        shape, own = self.keys.shape, (self.weights, self.errors, self.ordered)
        return SumsLaw(self.sums, self.lattice, rho, choose_scales(shape, self.places, rho, *own))

    @property
    def kept(self) -> tuple[int, ...]:
        """The positions of the keys with at least two values, which the lattice is over."""
        return tuple(i for i, size in enumerate(self.keys.shape) if size > 1)

    @property
    def ordered(self) -> frozenset[int]:
        """The keys of which ranges are asked, by their positions in the lattice."""
        asked, names = self.by_level, self.keys.names
        return frozenset(place for place, i in enumerate(self.kept) if names[i] in asked)

    @property
    def by_level(self) -> Names:
        """The names of the keys in `ranges` that have ranges: those with at least two values."""
        return tuple(name for name in self.ranges or () if self.keys[name].size > 1)

    @final
    def release(self, counts: Any, source: Source | None = None) -> Release:
        """Release the tables: the only place that sees data and draws noise.

        Parameters
        ----------
        counts : KeyedCounts, or whole numbers with a dimension for each key
            Of plain numbers the bounds are the caller's promise: they are the mechanism's.
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
            If the counts were made with more `max_rows` than this mechanism protects, or without
            its `one_row_per`.
        """
        refuse_guarded(counts)
        refuse_released(counts, "counts")
        self.refuse_other(counts)
        data = accept_counts(counts, self.keys, self.max_rows, self.one_row_per)
        self.accept(data)
        noisy = self._measure(data, source)
        return self._make_release(
            self.decode(noisy),
            counts,
            source,
            total=self.compute_total(noisy),
            noisy=noisy,
            provenance=provenance_of_unit(data)
            | state_bounds(data.unlisted, data.one_row_per)
            | state_weight(data.weight),
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
            weights=self.weights,
            errors=self.errors,
            ranges=self.ranges,
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

    def compute_total(self, noisy: Mapping[str, IntArray]) -> int:
        """Return the number of all records by the noisy contrasts, at least 0."""
        total = max(int(noisy[name_contrasts((), self.keys, self.kept)][0]), 0)
        return total if self.step is None else round(total * self.step)

    def refuse_other(self, data: object) -> None:
        """Refuse what is neither KeyedCounts nor can be counts; no number is looked at."""
        if self.step is not None and not isinstance(data, KeyedCounts):
            raise ParameterError(
                "counts", "must be KeyedCounts of weights: count a table with them"
            )
        refuse_other_data(data, self.keys)

    def accept(self, data: KeyedCounts) -> None:
        """Refuse data with other keys, or a bound that is not protected; both are public."""
        check_accepted(data, self.keys, self.max_rows, self.step, self.one_row_per, self.sums or ())

    def _measure(self, data: KeyedCounts, source: Source | None) -> dict[str, IntArray]:
        """Return the noisy contrasts of each table of the lattice, flat: each is drawn once."""
        if self._discovering:
            return self._find_and_measure(data, source)
        scales, pure, law = self.scales, self.pure, self.sums_law
        costly = RuntimeError("the noise would cost more than the release states")
        if pure is None:
            if self._costs_too_much() or (law is not None and not law.costs_at_most()):
                raise costly
        else:
            if not pure.costs_at_most(self.epsilon_of_row):
                raise costly
            if pure.cover is not None:
                return self._measure_cells(data, pure.cover, scales[pure.cover], source)
        found = self._measure_contrasts(data.sum_over, scales, source)
        of_sums = (
            {n: law.compute_scales(clamp) for n, clamp in law.columns} if law is not None else {}
        )
        for place, (column, own) in enumerate(of_sums.items()):
            noisy = self._measure_contrasts(partial(data.sum_values, column), own, source)
            found |= {make_prefix(place) + name: each for name, each in noisy.items()}
        return found

    def _measure_contrasts(
        self,
        sum_over: Callable[[Table], IntArray],
        scales: Mapping[Table, Fraction],
        source: Source | None,
    ) -> dict[str, IntArray]:
        """Return the noisy contrasts of each table, of counts or of sums.

        Parameters
        ----------
        sum_over : returns the exact numbers of a table.
        scales : as `scales`.
        """
        lattice, kept = self.lattice, self.kept
        noisy: dict[Table, IntArray] = {}
        geometric = self.pure is not None
        for table in lattice.maximal:
            exact = measure_all(sum_over(tuple(kept[i] for i in table)))
            for part in subsets(table):
                if part in noisy:
                    continue
                # Row 0 of a key that the part has not is the sum over it.
                block = tuple(slice(1, None) if i in part else 0 for i in table)
                noisy[part] = add_noise(
                    exact[block], lattice, part, scales[part], source, geometric
                )
        return {
            name_contrasts(part, self.keys, kept): noisy[part].ravel() for part in lattice.family
        }

    def _measure_cells(
        self, data: KeyedCounts, cover: Table, scale: Fraction, source: Source | None
    ) -> dict[str, IntArray]:
        """Return the contrasts of noisy cells of one table: all but the noise is post-processing.

        Parameters
        ----------
        cover : the table that all tables asked are part of.
        scale : 1 / rate of the noise of each cell.
        """
        exact = data.sum_over(tuple(self.kept[i] for i in cover))
        drawn = two_sided_geometric(1 / scale, exact.size, source) + exact.ravel()
        cells = drawn.reshape(exact.shape)
        found = {}
        for part in self.lattice.family:
            rest = tuple(axis for axis, i in enumerate(cover) if i not in part)
            noisy = measure_all(sum_over_axes(cells, rest))[(slice(1, None),) * len(part)]
            found[name_contrasts(part, self.keys, self.kept)] = noisy.ravel()
        return found


def name_contrasts(table: Table, keys: Keys, kept: tuple[int, ...]) -> str:
    """Return the name of a table's noisy contrasts in a release: its keys; empty for the total."""
    return "+".join(keys.names[kept[i]] for i in table)
