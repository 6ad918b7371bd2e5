"""Pure epsilon for tables: geometric noise on contrasts or on cells, and what a record pays.

A record in cell c moves the contrast with rows h by abs(h[c]), so with noise of rate r on it the
contrast costs r abs(h[c]). The rate of a contrast of A is at most 1 / (s_A abs(h)), so a record
pays at most the sum over A of L_A / s_A, with L_A the product over the keys of A of the largest sum
of abs(h[c]) / abs(h) over the contrasts of a key (`docs/understand/proofs/tables.md`, Lemma 7). Or
the cells of one table that covers all get noise, of which a record moves one, by 1 (Lemma 8).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.magnitude import geometric_standard_deviation
from dphist.privacy.conversion import geometric_to_rho
from dphist.tables.contrasts import make_contrasts, root_above
from dphist.tables.lattice import (
    Lattice,
    Table,
    add_up_to_at_most,
    compute_bounded_weights,
    equal_variances,
    sums_above,
)
from dphist.tables.law import Numbers, make_lattice

MOST_CELLS = 10**7
"""Of the table that covers all, if its cells get the noise."""

_STEPS = 2**40
_MOST_TERMS = 5000
_BETTER = 1 - Fraction(1, 10**9)

Path: TypeAlias = tuple[tuple[Fraction, int], ...]


@lru_cache(maxsize=1024)
def list_paths(size: int) -> tuple[Path, ...]:
    """Return what the values of a key have in its contrasts, each kind of value once.

    Of each contrast that is not 0 at the value: its length, rounded up, and the entry without its
    sign. As `make_contrasts` builds them, an odd number of values parts with its last one.

    >>> [[(round(float(length), 3), entry) for length, entry in path] for path in list_paths(3)]
    [[(2.449, 1), (1.414, 1)], [(2.449, 2)]]
    """
    if size == 1:
        return ((),)
    odd = size % 2 == 1
    length = root_above(Fraction(size * (size - 1) if odd else size))
    below = list_paths(size - 1 if odd else size // 2)
    longer = tuple(((length, 1), *path) for path in below)
    return (*longer, ((length, size - 1),)) if odd else longer


@lru_cache(maxsize=1024)
def compute_reach(size: int) -> Fraction:
    """Return the largest sum of entry / length over the contrasts at a value of a key, rounded up.

    >>> [round(float(compute_reach(size)), 4) for size in (2, 3, 4, 64)]
    [0.7071, 1.1154, 1.2071, 2.1124]
    """
    return max(
        Fraction(sum(math.ceil(entry * _STEPS / length) for length, entry in path), _STEPS)
        for path in list_paths(size)
    )


def reach(lattice: Lattice, table: Table) -> Fraction:
    """Return L_A: what a record pays for the contrasts of a table, times their scale, at most."""
    return math.prod((compute_reach(lattice.shape[i]) for i in table), start=Fraction(1))


@dataclass(frozen=True, slots=True)
class PureLaw:
    """Where geometric noise goes, and how much of it.

    Attributes
    ----------
    cover : the table whose cells get the noise, each by itself; None for noise on contrasts.
    scales : of contrasts s_A by table: with rows h the noise has the rate 1 / (s_A abs(h)), the
        length rounded up. Of cells 1 / rate of each, by their table.
    """

    lattice: Lattice
    cover: Table | None
    scales: Mapping[Table, Fraction]

    def costs_at_most(self, epsilon: Fraction) -> bool:
        """Whether one record pays at most epsilon, whatever its cell; exact."""
        if self.cover is not None:
            return epsilon * self.scales[self.cover] >= 1
        found = (reach(self.lattice, t) / self.scales[t] for t in self.lattice.family)
        return add_up_to_at_most(found, epsilon)

    def rho(self, epsilon: Fraction, rows: int) -> Fraction:
        """Return the rho of a unit with all of its rows, rounded up.

        Parameters
        ----------
        epsilon : of a unit, as `rows` times what one row pays.
        """
        if self.cover is not None:
            return geometric_to_rho(epsilon, rows)
        total, left = Fraction(0), _MOST_TERMS
        for table in self.lattice.family:
            paths = [list_paths(self.lattice.shape[i]) for i in table]
            left -= math.prod(sum(map(len, each)) for each in paths)
            scale = self.scales[table]
            bound = rows**2 * self.lattice.share(table) / (2 * scale**2)
            total += min(bound, _rho_of_table(paths, scale, rows)) if left >= 0 else bound
        return Fraction(math.ceil(total * _STEPS), _STEPS)

    def variances(self) -> dict[Table, Fraction]:
        """Return the variance of a contrast over its squared length, by table; at most.

        Of contrasts of one table, that of the longest is the largest. Sums of cells with noise have
        uncorrelated contrasts, as these are orthogonal.
        """
        shape, family = self.lattice.shape, self.lattice.family
        if self.cover is not None:
            each = _variance(1 / self.scales[self.cover])
            whole = math.prod(shape[i] for i in self.cover)
            return {t: each * (whole // math.prod(shape[i] for i in t)) for t in family}
        found = {}
        for table in family:
            longest = math.prod((_lengths(shape[i])[1] for i in table), start=Fraction(1))
            found[table] = _variance(1 / (self.scales[table] * longest)) / longest**2
        return found

    @property
    def smallest_scale(self) -> Fraction:
        """1 / rate of the noise with the largest rate."""
        return min(self._ends(0))

    @property
    def can_be_drawn(self) -> bool:
        """Whether all rates are those that noise is drawn at."""
        return max(self._ends(1)) * SMALLEST_EPSILON <= 1

    def _ends(self, end: int) -> list[Fraction]:
        """Return 1 / rate of each table's shortest contrasts, or of its longest."""
        if self.cover is not None:
            return [*self.scales.values()]
        shape = self.lattice.shape
        return [
            scale * math.prod((_lengths(shape[i])[end] for i in table), start=Fraction(1))
            for table, scale in self.scales.items()
        ]


def _rho_of_table(paths: Sequence[tuple[Path, ...]], scale: Fraction, rows: int) -> Fraction:
    """Return the largest sum, over the cells of a table, of what its contrasts cost."""
    worst = Fraction(0)
    for cell in product(*paths):
        alike: dict[tuple[Fraction, int], int] = {(scale, rows): 1}
        for path in cell:
            longer: dict[tuple[Fraction, int], int] = {}
            for ((length, entry), times), (more, factor) in product(alike.items(), path):
                key = (length * more, entry * factor)
                longer[key] = longer.get(key, 0) + times
            alike = longer
        found = (n * geometric_to_rho(moved / each, moved) for (each, moved), n in alike.items())
        worst = max(worst, sum(found, Fraction(0)))
    return worst


@lru_cache(maxsize=1024)
def _lengths(size: int) -> tuple[Fraction, Fraction]:
    """Return the shortest and the longest length of a contrast, rounded up."""
    found = [length for length, _ in make_contrasts(size).groups()]
    return min(found), max(found)


def _variance(rate: Fraction) -> Fraction:
    return Fraction(geometric_standard_deviation(rate) ** 2)


@lru_cache(maxsize=256)
def choose_noise(
    shape: tuple[int, ...],
    places: tuple[Table, ...],
    epsilon: Fraction,
    weights: Numbers,
    errors: Numbers,
) -> PureLaw:
    """Return the noise with the smaller error, of that on contrasts and that on cells.

    Only public numbers decide. What is compared is what is asked to be small: the sum of weight
    times variance, the largest ratio of error and wish, or, without either, the largest error of a
    cell, of the tables asked and the number of all records. Cells are those of all keys of the
    tables asked, together.

    Parameters
    ----------
    epsilon : of one record.
    places, weights, errors : as for `choose_scales`.
    """
    lattice = make_lattice(shape, places)
    on_contrasts = PureLaw(lattice, None, _choose_scales(lattice, places, epsilon, weights, errors))
    cover = tuple(sorted({i for table in places for i in table}))
    if math.prod(lattice.shape[i] for i in cover) > MOST_CELLS:
        return on_contrasts
    on_cells = PureLaw(lattice, cover, MappingProxyType({cover: 1 / epsilon}))

    def weigh(law: PureLaw) -> Fraction:
        variances = law.variances()
        found = [lattice.variance(place, variances) for place in places]
        if weights is not None:
            return sum((w * v for w, v in zip(weights, found, strict=True)), Fraction(0))
        if errors is not None:
            return max(v / s**2 for v, s in zip(found, errors, strict=True))
        return max(*found, lattice.variance((), variances))

    return on_cells if weigh(on_cells) < weigh(on_contrasts) * _BETTER else on_contrasts


def _choose_scales(
    lattice: Lattice,
    places: tuple[Table, ...],
    epsilon: Fraction,
    weights: Numbers,
    errors: Numbers,
) -> Mapping[Table, Fraction]:
    """Return s_A of each table of the lattice, for which one record pays at most epsilon.

    For equal errors s_A**2 is in proportion to the product of 1 + 1/n. A weighted sum, of
    c_A p_A s_A**2 over A, is the smallest where s_A**3 is in proportion to L_A / (c_A p_A).
    """
    reaches = {t: reach(lattice, t) for t in lattice.family}
    if weights is None and errors is None:
        squares = equal_variances(lattice)
        rates = {t: root_above(_STEPS**2 / squares[t]) / _STEPS for t in lattice.family}
    else:
        summed = dict.fromkeys(lattice.tables, Fraction(0))
        if weights is not None:
            for place, weight in zip(places, weights, strict=True):
                summed[place] += weight
        elif errors is not None:
            pairs = list(zip(places, errors, strict=True))
            wished = {t: min(each for place, each in pairs if place == t) for t in lattice.tables}
            summed = compute_bounded_weights(lattice, wished, reaches)
        sums = sums_above(lattice, summed)
        rates = {t: _cube_root(sums[t] * lattice.share(t) / reaches[t]) for t in lattice.family}
    spent = sum((reaches[t] * rates[t] for t in lattice.family), Fraction(0))
    steps = {t: math.ceil(spent * _STEPS / (epsilon * rates[t])) for t in lattice.family}
    return MappingProxyType({t: Fraction(each, _STEPS) for t, each in steps.items()})


def _cube_root(number: Fraction) -> Fraction:
    """Return about the cube root of a number above 0, the same on every machine.

    >>> float(_cube_root(Fraction(27, 8)))
    1.5
    """
    whole = max(number.numerator * 2**240 // number.denominator, 1)
    root = 1 << -(-whole.bit_length() // 3)
    while True:
        smaller = (2 * root + whole // root**2) // 3
        if smaller >= root:
            return Fraction(root, 2**80)
        root = smaller
