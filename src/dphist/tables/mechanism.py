"""Tables: counts by several keys, in one release whose tables add up."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp, read_share, read_sums
from dphist.errors import Argument, ParameterError
from dphist.mechanism import Intervals, check_kind, parameter
from dphist.parameters import Exact, privacy_parameter, whole_number
from dphist.privacy import ApproxDP, Target
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.by_table import read_by_table, read_ranges, write_by_table, write_table
from dphist.tables.cell_sums import Columns, check_columns, make_prefix
from dphist.tables.discovery import read_delta
from dphist.tables.found import split_found
from dphist.tables.impossible import Impossible
from dphist.tables.key_cells import check_cells
from dphist.tables.keyed_sums import KeyedSum
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Keys, Names, read_tables
from dphist.tables.lattice import Table, check_scales, too_small
from dphist.tables.law import bound_scales, check_found_scales
from dphist.tables.measuring import name_contrasts
from dphist.tables.row_bounds import check_priced, read_one_row_per
from dphist.tables.row_weights import read_step
from dphist.tables.stating import TablesStating, bound_variances


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Tables(TablesStating):
    """Counts by several keys, in one release whose tables add up.

    Parameters
    ----------
    rho : number, optional
        Privacy parameter of the whole release, for a unit with all of its rows. Or instead
    epsilon, delta : numbers, optional
        a total: the release is (epsilon, delta)-DP, with the smallest Gaussian noise for which that
        holds. Without delta, or with 0, it is epsilon-DP by geometric noise, on contrasts or on
        cells, whichever has the smaller error by these parameters: see `noise_on`. Where values of
        keys are found, rho needs a delta, too, that of finding them; of a total, half of delta is.
    keys : mapping of names to values
        The keys and their public values, as for `KeyedCounts.from_table`: ``counts.keys`` of the
        counted data. A key with one value is dropped: see `dropped`. With `DiscoverKeys` in place
        of values, those that enough records have are found first, in the same release; all other
        records are counted as "other". See `searches`.
    tables : sequence of tables
        Each the names of its keys, as text with "+" between them or as a list.
    max_rows : int
        Rows of one privacy unit, at most (default: 1).
    one_row_per : text, optional
        A key on which all rows of a unit differ, such as "day": the data must be counted with the
        same `one_row_per`, so that a unit has one row for each value of it at most. Such rows cost
        less together than rows that may be alike. Only with Gaussian noise, and for a key that
        lists all its values; not with `ranges` or values that are found.
    weights : mapping of tables to numbers, optional
        The sum of weight times the variance of a cell, over the tables asked, is minimized; 1 for
        tables that are not named. Without `weights` and `errors`, every cell of every table has the
        same error, and so has every sum over keys of a table; of geometric noise on cells, sums
        have larger ones. Where only the cells of one table matter, a weight for it gives these less
        error, and sums of them more.
    errors : mapping of tables to numbers, optional
        Standard errors of cells, at most in about this ratio; 1 for tables that are not named. The
        error of a table may be smaller, where others need its sums.
    impossible : sequence of mappings, optional
        Combinations of values that no record can have, as everybody knows: ``[{"sex": "m", "ward":
        "maternity"}]``. Each names values of two keys or more, as conditions of `count` do. They
        must not be taken from the data. Unbiased numbers stay as they are, and tables have a column
        that marks these cells; whole numbers are 0 there, and no made-up record is in one, also
        where no table has the keys together.
    ranges : sequence of keys, optional
        Names of keys whose values are read in ranges, in their order: ``["age"]``. Their contrasts
        get noise by level, so that ranges have less error, by the root of the mean square over all
        of them. Errors of single values are then not all the same, and sums over all values have
        larger ones: what is the same in all tables, or is minimized with `weights`, is the mean
        square error of ranges, and values of other keys. Only with Gaussian noise, of listed
        values, and not with `errors`.
    step : number, optional
        The unit of counts that are sums of weights: `step` of the data, such as 0.01, which were
        counted with a `dphist.Weight`. Noise is on whole numbers of steps, for a unit that adds up
        to `max_rows` records; all that is released is in records. Not with `one_row_per`, nor where
        values are found.
    sums : mapping of str to Clamp, optional
        Release also sums of columns of numbers, and means, in the same tables: those of the data,
        which are made with the same `sums`. They add up as counts do. Only with Gaussian noise, of
        listed values, and not with `one_row_per`.
    sums_share : number above 0 and below 1
        Part of rho that pays for all sums, each column alike (default: 1/2); the rest pays for
        counts.

    Guarantee
    ---------
    - Neighbors differ by adding or removing one unit with at most `max_rows` records, each in one
      cell of the keys: `KeyedCounts.from_table(user=)` has bounded them, or the caller promises it.
    - rho-zCDP; (epsilon, delta)-DP for every delta, by the exact law of Gaussian noise, and R
      releases together as one with R times rho. Where values of keys are found, with a delta in
      all of d: d-approximate rho-zCDP, for finding values and counting together.
    - With epsilon alone, pure epsilon-DP, and rho-zCDP with the rho of `guarantee`.
    - In rho, a unit with m rows costs m**2 times what one row does, and in a pure epsilon m times;
      that is tight if all are in one cell. With `one_row_per`, which `KeyedCounts.from_table` has
      enforced or the caller promises, less: the exact price of rows that differ on that key.
    - Covered is the whole release, with all noisy contrasts and what is computed from them. Not
      covered are the time it takes, keys or impossible combinations that were taken from the data,
      which rows bounding left out, and that counting refused rows.

    Notes
    -----
    For each set of keys, the products of counts with orthogonal rows of whole numbers are measured,
    each with rounded Gaussian noise, or geometric noise, in proportion to the length of its rows
    (`docs/understand/proofs/tables.md`). Tables are sums of these contrasts, so they add up. Time
    and memory are linear in the records' cells and in the cells of the tables asked.
    Source: Xiao, He, Zhang, Kifer 2023 (residual mechanism); the whole contrasts are dphist's.

    >>> tables = Tables(rho=50, keys={"sex": ["f", "m"], "smokes": [False, True]},
    ...     tables=["sex", "sex+smokes"])
    >>> t = tables.release([[3000, 1000], [2000, 2000]]).value
    >>> bool(abs(t.count(sex="f") - 4000) < 5)
    True
    """

    paper = "xiao2023"
    reference = (
        "Y. Xiao, G. He, D. Zhang, D. Kifer. An Optimal and Scalable Matrix Mechanism for Noisy "
        "Marginals under Convex Loss Functions. Advances in Neural Information Processing Systems "
        "36, 2023. arXiv:2305.08175."
    )

    rho: Fraction | None = parameter(
        "Privacy parameter of the whole release; smaller is more private.",
        "The guarantee was asked for in epsilon.",
        symbol="R",
    )
    epsilon: Fraction | None = parameter(
        "Total epsilon of the whole release; smaller is more private.",
        "The guarantee was asked for in rho.",
        symbol="E",
    )
    delta: Fraction | None = parameter(
        "Total delta of the whole release.",
        "The guarantee has no delta: it is in rho, or in epsilon alone by geometric noise.",
        symbol="D",
    )
    keys: Keys = parameter(
        "Keys, and how many values each has.", public=True, shown=lambda held: held.keys.sizes()
    )
    tables: tuple[Names, ...] = parameter(
        "Tables, each by its keys.", shown=lambda held: [*map(write_table, held.tables)]
    )
    max_rows: int = parameter(
        Sentence("{Records} that one protected unit can add or remove, at most."), symbol="M"
    )
    weights: tuple[Fraction, ...] | None = parameter(
        "Weights of the tables, by which their variances are added up and minimized.",
        "Every cell has the same error, unless noise is on cells.",
        shown=lambda held: write_by_table(held.tables, held.weights),
    )
    errors: tuple[Fraction, ...] | None = parameter(
        "Standard errors of the tables, at most in this ratio.",
        "Every cell has the same error, unless noise is on cells.",
        shown=lambda held: write_by_table(held.tables, held.errors),
    )
    impossible: Impossible | None = parameter(
        Sentence("Combinations of values that no {record} can have, as everybody knows."),
        "No combination of values was said to be impossible.",
        public=True,
        shown=lambda held: held.impossible.texts(),
    )
    ranges: Names | None = parameter(
        "Keys whose values are read in ranges: noise is by level, in favor of sums of many values.",
        "Each value counts by itself.",
        shown=lambda held: [*held.ranges],
    )
    one_row_per: str | None = parameter(
        Sentence("A key: for each value of it, one {record} of a protected unit counts at most."),
        Sentence("{Records} of one protected unit may be alike in all keys."),
        symbol="NAME",
    )
    step: Fraction | None = parameter(
        "The unit of counts, which are sums of weights of rows.",
        Sentence("{Records} are counted whole, without weights."),
        symbol="STEP",
    )
    sums: Columns | None = parameter(
        "Columns that are summed in each cell: low, high and step of a value.",
        "No sums are released.",
        public=True,
        shown=lambda held: [f"{name}={clamp.to_text()}" for name, clamp in held.sums],
    )
    sums_share: Fraction = parameter(
        "Part of the cost that pays for sums.",
        symbol="S",
        needs=[("sums", "without sums all pays for counts")],
    )

    def __init__(
        self,
        *,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        keys: Any,
        tables: Any,
        max_rows: int = 1,
        weights: Any = None,
        errors: Any = None,
        impossible: Any = None,
        ranges: Any = None,
        one_row_per: str | None = None,
        step: Exact | None = None,
        sums: Mapping[str, Clamp] | None = None,
        sums_share: Exact = "1/2",
    ) -> None:
        held = Keys.read(keys)
        finding = bool(held.discovering)
        _check_total(rho, epsilon, delta, finding=finding)
        if finding:
            _refuse_with_found(impossible=impossible, step=step)
        held.check_shares()
        asked = read_tables(tables, held.names)
        most = whole_number(max_rows, "max_rows", 1, 10**6)
        beside = {"one_row_per": one_row_per, "sums": sums}
        self._hold(
            rho=None if rho is None else privacy_parameter(rho, "rho"),
            epsilon=None if epsilon is None else privacy_parameter(epsilon, "epsilon"),
            delta=read_delta(delta, "values of keys are found with a threshold", finding=finding),
            keys=held,
            tables=asked,
            max_rows=most,
            weights=read_by_table(weights, "weights", asked, held),
            errors=read_by_table(errors, "errors", asked, held),
            impossible=None if impossible is None else Impossible.read(impossible, held),
            ranges=None if ranges is None else read_ranges(ranges, asked, held),
            one_row_per=None if one_row_per is None else read_one_row_per(one_row_per, held, most),
            step=None if step is None else read_step(step, most, **beside),
            sums=read_sums(sums) or None,
            sums_share=read_share(sums_share),
        )
        if self.sums is not None:
            self._check_sums(self.sums)
        if weights is not None and errors is not None:
            raise ParameterError(("weights", "errors"), "must not both be given")
        if self.ranges is not None:
            self._check_ranges()
        if self.one_row_per is not None:
            check_priced(self.pure is not None, self.ranges is not None, len(self.kept))
        self._check_strength(finding)

    def _check_strength(self, finding: bool) -> None:
        """Hold the total; refuse what is too large, and noise that cannot be drawn."""
        if self.epsilon is not None and self.delta is not None:
            self._hold(target=Target(ApproxDP(self.epsilon, self.delta, self._unit)))
        self.lattice.check_sizes(finding)
        beside = "weights" if self.weights else "errors" if self.errors else None
        if self.pure is None:
            check_scales(self.lattice, self.scales, beside)
        elif not self.pure.can_be_drawn:
            raise too_small("epsilon", beside)
        if finding:
            self._check_finding(beside)
        for _, clamp in self.sums or ():
            assert self.sums_law is not None  # noqa: S101 - there are sums
            check_scales(self.lattice, self.sums_law.compute_scales(clamp), "sums")

    def _check_sums(self, columns: Columns) -> None:
        """Refuse what sums do not go with."""
        check_columns(columns, self.keys)
        if self.epsilon is not None and self.delta is None:
            raise ParameterError(
                "sums",
                "must be left out without a delta: only Gaussian noise is given to sums",
                "give " + Argument("delta") + " with epsilon, or " + Argument("rho"),
            )
        if self.one_row_per is not None:
            raise ParameterError(
                ("one_row_per", "sums"),
                "must not both be given: what rows cost that differ on a key is known of counts",
                "leave out one of them",
            )

    def _check_ranges(self) -> None:
        """Refuse what noise by level does not go with."""
        if self.errors is not None:
            raise ParameterError(
                ("errors", "ranges"),
                "must not both be given: with noise by level, cells have different errors",
                "give " + Argument("weights") + " instead of errors",
            )
        if self.epsilon is not None and self.delta is None:
            raise ParameterError(
                "ranges",
                "must be left out without a delta: only Gaussian noise is given by level",
                "give " + Argument("delta") + " with epsilon, or " + Argument("rho"),
            )

    def _check_finding(self, beside: str | None) -> None:
        """Refuse, before any data are read, what some number of values found would not allow."""
        check_cells(self.keys)
        privacy_parameter(self.rho_of_tables, "rho")
        fewer = frozenset(i for i, at in enumerate(self.kept) if self.keys.keys[at].discover)
        bounds = bound_scales(
            self.keys.shape,
            self.places,
            self.rho_of_row,
            self.weights,
            self.errors,
            self.ordered,
            fewer,
        )
        check_found_scales(self.lattice, bounds, fewer, beside)
        _ = self.searches  # which are refused where their noise cannot be drawn

    @classmethod
    def needs_delta(cls, *, keys: Any, **_: Any) -> bool:
        """Return whether the mechanism has a delta of its own, beside that of a total."""
        return bool(Keys.read(keys).discovering)

    @property
    def dropped(self) -> Names:
        """Keys with one value, which tables do not have: every record has that value."""
        return tuple(key.name for key in self.keys if key.size == 1)

    def decode(self, noisy: Mapping[str, IntArray]) -> KeyedTables:
        """Return the tables inferred from noisy contrasts; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the contrasts of a release of this mechanism.
        """
        problem = ParameterError("noisy", "must hold the contrasts of a release of this mechanism")
        if self.keys.discovering:
            found, rest = split_found(noisy, self.keys, problem)
            return self.with_found(found).decode(rest)
        law = self.sums_law
        columns = () if law is None else law.columns
        prefixes = ["", *(make_prefix(place) for place in range(len(columns)))]
        if len(noisy) != len(prefixes) * len(self.lattice.family):
            raise problem
        counts = self._decode_one(noisy, "", self._variances, problem)
        summed: dict[str, KeyedSum] = {}
        for prefix, (name, clamp) in zip(prefixes[1:], columns, strict=True):
            assert law is not None  # noqa: S101 - there are columns
            variances = bound_variances(self.lattice, law.compute_scales(clamp))
            summed[name] = KeyedSum(clamp, self._decode_one(noisy, prefix, variances, problem))
        return replace(counts, summed=summed)

    def _decode_one(
        self,
        noisy: Mapping[str, IntArray],
        prefix: str,
        variances: Mapping[Table, Fraction],
        problem: ParameterError,
    ) -> KeyedTables:
        """Return tables of the contrasts whose names begin so: those of counts, or of one sum."""
        lattice, kept = self.lattice, self.kept
        held: dict[Table, IntArray] = {}
        for table in lattice.family:
            found = noisy.get(prefix + name_contrasts(table, self.keys, kept))
            if found is None or found.size != lattice.contrasts(table):
                raise problem
            held[tuple(kept[i] for i in table)] = found.reshape(
                [lattice.shape[i] - 1 for i in table]
            )
        return KeyedTables(
            self.keys,
            self.tables,
            held,
            {tuple(kept[i] for i in table): float(each) for table, each in variances.items()},
            self.impossible,
            self.reach,
            ordered=frozenset(kept[i] for i in self.ordered),
            step=self.step,
        )

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> KeyedTables:
        """Return tables that were read from a file, with the contrasts that make them.

        Raises
        ------
        ValueError
            If they have other keys or tables than this mechanism.
        """
        check_kind(value, KeyedTables)
        decoded = self.decode(noisy)
        if (value.keys, value.tables) != (decoded.keys, decoded.tables):
            raise ValueError("the tables are not those of the mechanism")
        return KeyedTables.infer_again(value, decoded)

    def intervals(self, release: Release, level: float = 0.95) -> Intervals:
        """Return bounds on the cells of all tables asked, one table after the other.

        Of each cell by itself, over the noise alone, which is about normal, or of geometric noise
        between that and one draw: see `KeyedTables.interval`.
        """
        self._check_asked(release, level)
        bounds = [release.value.bounds(names, level) for names in self.tables]
        lower, upper = (np.concatenate([each[side].ravel() for each in bounds]) for side in (0, 1))
        return Intervals(lower, upper, level)


def _refuse_with_found(**given: Any) -> None:
    """Refuse what depends on which values keys have, where they are found."""
    for name in [name for name, each in given.items() if each is not None]:
        raise ParameterError(
            name,
            "must be left out where values of keys are found: which there are is not known",
            "list the values in " + Argument("keys"),
        )


def _check_total(
    rho: Exact | None, epsilon: Exact | None, delta: Exact | None, *, finding: bool
) -> None:
    """Refuse a total that is not given, or twice, or by halves."""
    if (rho is None) == (epsilon is None):
        with_delta = Argument("epsilon") + " with or without " + Argument("delta")
        raise ParameterError("rho", "must be given, or " + with_delta)
    if rho is not None and delta is not None and not finding:
        raise ParameterError(
            "delta", "must be given with " + Argument("epsilon") + ", whose other half it is"
        )
