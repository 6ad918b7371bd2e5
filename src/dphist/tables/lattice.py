"""The lattice of tables: which contrasts are measured, with how much noise, and what that costs.

Tables are sets of keys, written as their positions. F has all subsets of the tables asked, the
empty one, the number of all records, included. For A in F, the contrasts of A are the products of
one contrast of each key of A; p_A is the product of 1 - 1/n over the keys of A, and sigma_A the
scale of their noise: a contrast with rows h gets standard deviation sigma_A times the lengths of
its rows. One record costs rho = sum over A of p_A / (2 sigma_A**2), whatever its cell
(`docs/understand/proofs/tables.md`, Lemma 3). Keys of which ranges are asked have other standard
deviations in place of lengths, and another cost in place of 1 - 1/n (`key_noise`, Lemma 15).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np

from dphist.arrays import AnyArray
from dphist.errors import Argument, Message, ParameterError
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.tables.contrasts import root_above
from dphist.tables.key_noise import KeyNoise, make_noise

Table: TypeAlias = tuple[int, ...]
"""The positions of a table's keys, ascending."""

MOST_CONTRASTS = 10**8
MOST_TABLES = 2**14
MOST_PATTERNED = 14
"""Keys of which all patterns are tried, in which two records differ."""

_FIND = (
    " (such as groups of them), or only the values that enough records have: with a delta, give "
    "the largest key as dphist.DiscoverKeys, typed NAME=discover:SHARE"
)
_FIND_FEWER = ", or find fewer: a smaller max_found, typed NAME=discover:SHARE:N"
_STEPS = 2**80  # weights of patterns are whole multiples of rho over this
SMALLEST_WEIGHT = 1e-12
"""The smallest weight that wished errors give a table, as a share of the largest."""

_ROUNDS = 2000
_CLOSE = 1e-9


@dataclass(frozen=True)
class Lattice:
    """The tables asked, and all below them.

    Attributes
    ----------
    shape : the number of values of each key, at least 2.
    tables : the tables asked.
    ranges : positions of keys of which ranges are asked.
    """

    shape: tuple[int, ...]
    tables: tuple[Table, ...]
    ranges: frozenset[int] = frozenset()

    @cached_property
    def family(self) -> tuple[Table, ...]:
        """All subsets of the tables asked, by the number of keys: F."""
        found: set[Table] = set()
        for table in self.tables:
            if len(table) > MOST_TABLES.bit_length():
                raise too_large(f"{len(table)} keys in one table have more than {MOST_TABLES} sums")
            for most in range(len(table) + 1):
                found.update(combinations(table, most))
            if len(found) > MOST_TABLES:
                raise too_large(f"they have more than {MOST_TABLES} sums over some of their keys")
        return tuple(sorted(found, key=lambda table: (len(table), table)))

    @cached_property
    def maximal(self) -> tuple[Table, ...]:
        """The tables that are part of no other."""
        sets = [set(table) for table in self.tables]
        return tuple(t for t in self.tables if not any(set(t) < other for other in sets))

    def noise(self, i: int) -> KeyNoise:
        """Return the noise of the contrasts of a key."""
        return make_noise(self.shape[i], i in self.ranges)

    def share(self, table: Table) -> Fraction:
        """Return p_A, the squared length of a record among the contrasts of a table, at most."""
        return math.prod((self.noise(i).cost for i in table), start=Fraction(1))

    def contrasts(self, table: Table) -> int:
        """Return the number of contrasts of a table."""
        return math.prod(self.shape[i] - 1 for i in table)

    def above(self, part: Table, table: Table) -> Fraction:
        """Return the product of 1/n**2 over the keys of a table that a part of it has not."""
        return Fraction(1, math.prod(self.shape[j] for j in table if j not in part) ** 2)

    def variance(self, table: Table, variances: Mapping[Table, Fraction]) -> Fraction:
        """Return the variance of each cell of a table, from those of the contrasts of its parts.

        With keys of which ranges are asked, the largest.

        Parameters
        ----------
        variances : sigma_A**2, by table.
        """
        own = {i: self._largest_of_value(i) for i in table}
        found = Fraction(0)
        for part in subsets(table):
            each = math.prod((own[i] for i in part), start=Fraction(1))
            found += variances[part] * each * self.above(part, table)
        return found

    def _largest_of_value(self, i: int) -> Fraction:
        """Return the largest variance of a value of a key, without the sum over all of them."""
        noise = self.noise(i)
        return Fraction(float(noise.of_values().max())) if noise.ordered else noise.asked

    def variance_of_ranges(self, table: Table, variances: Mapping[Table, Fraction]) -> Fraction:
        """Return the mean variance of what is asked of a table: ranges, and values of other keys.

        Parameters are those of `variance`.
        """
        found = Fraction(0)
        for part in subsets(table):
            each = variances[part]
            for i in table:
                noise = self.noise(i)
                each *= noise.asked if i in part else noise.rest
            found += each
        return found

    def costs_at_most(self, scales: Mapping[Table, Fraction], rho: Fraction) -> bool:
        """Whether one record pays at most rho for the scales sigma_A of all tables of F; exact."""
        return add_up_to_at_most((self.share(t) / (2 * scales[t] ** 2) for t in self.family), rho)

    def exchange_cost(self, scales: Mapping[Table, Fraction], rho: Fraction) -> Fraction:
        """Return what a record costs that is exchanged for another one, of which one costs rho.

        It is the largest of all patterns of keys in which the two differ, and at least rho, as one
        of them may be in no cell; rounded up (`docs/understand/proofs/exchanged.md`, Lemma 4). Of
        more than `MOST_PATTERNED` keys it is 4 rho, and if ranges are asked: what a pair costs then
        depends on its cells, and not on the pattern alone.
        """
        if self.ranges or len(self.shape) > MOST_PATTERNED:
            return 4 * rho
        weights = {t: math.ceil(_STEPS / (rho * scales[t] ** 2)) for t in self.family}
        among = self._weigh_patterns(weights).ravel().tolist()
        most = among[-1] - min(among)
        exchanged = Fraction(most, _STEPS * math.prod(self.shape)) * rho
        return min(max(exchanged, rho), 4 * rho)

    def cost_of_rows(
        self, scales: Mapping[Table, Fraction], rho: Fraction, rows: int, axis: int | None
    ) -> Fraction:
        """Return what a unit costs whose rows all have other values of a key; rounded up.

        It is that of the most rows, of which each two are of the most expensive pattern of keys in
        which they agree, or cost nothing together (`docs/understand/proofs/tables.md`, Lemma 16).

        Parameters
        ----------
        scales : sigma_A, by table; of no key are ranges asked.
        rho : which the cost is about; it is rounded up by less than the tables times 2**-80 of it.
        rows : the most of a unit, at least 1.
        axis : the position of the key, among at most `MOST_PATTERNED`; None for a key with one
            value.
        """
        if self.ranges or len(self.shape) > MOST_PATTERNED:
            raise ValueError("what rows cost is not known by patterns alone")
        weights = {t: math.floor(_STEPS / (rho * scales[t] ** 2)) for t in self.family}
        held, cells = self._weigh_patterns(weights), math.prod(self.shape)
        apart = held if axis is None else held.take([0], axis)
        beyond = len(self.family) * cells  # as no weight counts more than once
        alone, together = int(held.flat[-1]) + beyond, int(apart.max()) + beyond
        paid = rows * alone + rows * (rows - 1) * max(together, 0)
        return Fraction(paid, 2 * _STEPS * cells) * rho

    def exchange_of_rows(
        self, scales: Mapping[Table, Fraction], rho: Fraction, rows: int
    ) -> Fraction:
        """Return what units cost that are exchanged and whose rows differ on a key; rounded up.

        It is that of both units by themselves, less what the most expensive pattern takes off of
        each pair of their rows (`docs/understand/proofs/exchanged.md`, Lemma 5).

        Parameters
        ----------
        scales, rows : as for `cost_of_rows`.
        rho : at least what a unit pays with up to that many rows.
        """
        weights = {t: math.floor(_STEPS / (rho * scales[t] ** 2)) for t in self.family}
        held, cells = self._weigh_patterns(weights), math.prod(self.shape)
        least = Fraction(int(held.min()) - len(self.family) * cells, _STEPS * cells) * rho
        return min(max(2 * rho - rows**2 * least, rho), 4 * rho)

    def _weigh_patterns(self, weights: Mapping[Table, int]) -> AnyArray:
        """Return the sum over tables A of a weight times the product of [agree] - 1/n over A.

        Returns
        -------
        whole numbers, of 1 over the number of cells: 2 along each key, where two cells differ and
        where they agree.
        """
        held = np.zeros((2,) * len(self.shape), object)
        for table in self.family:
            held[tuple(int(i in table) for i in range(len(self.shape)))] = weights[table]
        for i, size in enumerate(self.shape):
            without, having = np.moveaxis(held, i, 0)
            both = size * without - having, size * without + (size - 1) * having
            held = np.moveaxis(np.array(both, object), 0, i)
        return held

    def check_sizes(self, finding: bool = False) -> None:
        """Refuse, before any data are read, what outgrows memory.

        An entry of a row is below the number of values of its key, so this bounds products, too.

        Parameters
        ----------
        finding : whether values of keys are to be found, of which the most are counted here.

        Raises
        ------
        ParameterError
        """
        number = sum(map(self.contrasts, self.family))
        if number >= MOST_CONTRASTS:
            raise too_large(
                f"they have {number:,} cells, which all get noise, with or without records; they "
                f"must have fewer than {MOST_CONTRASTS:,}",
                _FIND_FEWER if finding else _FIND,
            )


def subsets(table: Table) -> list[Table]:
    """Return all parts of a table, itself and the empty one included."""
    return [part for most in range(len(table) + 1) for part in combinations(table, most)]


def add_up_to_at_most(numbers: Iterable[Fraction], most: Fraction) -> bool:
    """Whether the sum of numbers, at least one, is at most a number; exact.

    Fractions are added in pairs and not reduced: of thousands, sums have a million digits.
    """
    terms = [number.as_integer_ratio() for number in numbers]
    while len(terms) > 1:
        odd = terms[len(terms) // 2 * 2 :]
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [(a * d + b * c, c * d) for (a, c), (b, d) in pairs] + odd
    (above, below), (whole, unit) = terms[0], most.as_integer_ratio()
    return above * unit <= whole * below


def too_large(why: str, also: str = "") -> ParameterError:
    """Return the error for tables that are too large.

    Parameters
    ----------
    also : what else to do than to ask for less.
    """
    less = "tables of fewer keys" + (", " if also else ", or ") + "keys of fewer values"
    return ParameterError("tables", f"are too large: {why}", f"ask for {less}{also}")


def compute_scales(
    lattice: Lattice, rho: Fraction, relative: Mapping[Table, Fraction]
) -> dict[Table, Fraction]:
    """Return the scales sigma_A, in the ratio of variances given, that one record pays rho for.

    They are rounded up to multiples of 2**-40, so the cost is at most rho (Lemma 3).

    Parameters
    ----------
    rho : of one record.
    relative : sigma_A**2 up to a factor, above 0.
    """
    spent = sum((lattice.share(t) / relative[t] for t in lattice.family), Fraction(0))
    factor = spent / (2 * rho)
    return {t: root_above(factor * relative[t]) for t in lattice.family}


def check_scales(
    lattice: Lattice, scales: Mapping[Table, Fraction], beside: str | None = None
) -> None:
    """Refuse scales beyond those that noise is drawn at.

    Parameters
    ----------
    beside : the parameter that the scales depend on beside rho, if there is one.

    Raises
    ------
    ParameterError
    """
    for table, scale in scales.items():
        largest = math.prod(lattice.noise(i).longest for i in table)
        if scale * largest > LARGEST_SIGMA:
            raise too_small(("epsilon", "rho"), beside)


def too_small(name: str | tuple[str, ...], beside: str | None) -> ParameterError:
    """Return the error for a guarantee whose noise cannot be drawn."""
    said: Message = "is too small for tables of this size"
    if beside is not None:
        said += ", with such " + Argument(beside)
    remedy = "raise " + Argument(name) if isinstance(name, str) else "raise one of them"
    return ParameterError(name, said, remedy)


def equal_variances(lattice: Lattice) -> dict[Table, Fraction]:
    """Return variances, up to a factor, with which every cell of every table of F has the same.

    sigma_A**2 = V times the product of 1 + 1/n over the keys of A, as the sum over A below B of
    the product of 1 - 1/n**2 over A, times that of 1/n**2 over the rest of B, is 1. Where ranges
    are asked, the mean variance of `variance_of_ranges` is the same for every table of F, by the
    same sum with `rest` in place of 1/n**2.
    """
    keys = {i: lattice.noise(i) for t in lattice.family for i in t}
    factors = {i: (1 - key.rest) / key.asked for i, key in keys.items()}
    return {t: math.prod((factors[i] for i in t), start=Fraction(1)) for t in lattice.family}


def compute_weighted_variances(
    lattice: Lattice, weights: Mapping[Table, Fraction]
) -> dict[Table, Fraction]:
    """Return variances, up to a factor, that minimize the sum of weight times variance of a cell.

    sigma_A**2 is in proportion to 1 / sqrt(c_A), where c_A is the sum of the weights of tables B
    above A, each times the product of 1/n**2 over the keys that B has and A has not. Where ranges
    are asked, of `variance_of_ranges`: with `rest` in place of 1/n**2, and c_A times what is asked
    of the keys of A over what they cost.

    Parameters
    ----------
    weights : of tables, above 0 for those that are maximal.
    """
    found = {}
    for part, total in sums_above(lattice, weights).items():
        for i in part:
            noise = lattice.noise(i)
            total *= noise.asked / noise.cost
        found[part] = 1 / root_above(total * 2**80) * 2**40
    return found


def sums_above(lattice: Lattice, weights: Mapping[Table, Fraction]) -> dict[Table, Fraction]:
    """Return c_A: what sigma_A**2 p_A is multiplied by in the sum of weight times variance."""

    def rest(part: Table, table: Table) -> Fraction:
        return math.prod((lattice.noise(j).rest for j in table if j not in part), start=Fraction(1))

    return {
        part: sum((w * rest(part, t) for t, w in weights.items() if {*part} <= {*t}), Fraction(0))
        for part in lattice.family
    }


def compute_bounded_variances(
    lattice: Lattice, errors: Mapping[Table, Fraction]
) -> dict[Table, Fraction]:
    """Return variances, up to a factor, with standard errors of cells in about the ratio given."""
    return compute_weighted_variances(lattice, compute_bounded_weights(lattice, errors))


def compute_bounded_weights(
    lattice: Lattice,
    errors: Mapping[Table, Fraction],
    reaches: Mapping[Table, Fraction] | None = None,
) -> dict[Table, Fraction]:
    """Return weights that give standard errors of cells in about the ratio given.

    The largest ratio of standard error and wish is about the smallest possible: weights grow where
    the ratio is large, until they no longer change.

    Parameters
    ----------
    errors : the wished standard errors of the tables asked, up to a factor.
    reaches : what a record pays for the contrasts of a table with geometric noise of scale 1; None
        for Gaussian noise.
    """
    tables = list(lattice.tables)
    wished = [float(errors[t]) ** 2 for t in tables]
    share = {a: float(lattice.share(a)) for a in lattice.family}
    parts = [[(a, share[a] * float(lattice.above(a, t))) for a in subsets(t)] for t in tables]
    weights = [1 / (len(tables) * wish) for wish in wished]
    for _ in range(_ROUNDS):
        sums = dict.fromkeys(lattice.family, 0.0)
        for weight, below in zip(weights, parts, strict=True):
            for a, each in below:
                sums[a] += weight * each / share[a]
        if reaches is None:
            scale = math.fsum(share[a] * math.sqrt(c) for a, c in sums.items())
            squared = {a: scale / math.sqrt(c) for a, c in sums.items()}
        else:
            cubed = {a: math.cbrt(share[a] * c / reaches[a]) for a, c in sums.items()}
            scale = math.fsum(reaches[a] * rate for a, rate in cubed.items())
            squared = {a: (scale / rate) ** 2 for a, rate in cubed.items()}
        ratios = [
            math.fsum(squared[a] * each for a, each in below) / wish
            for below, wish in zip(parts, wished, strict=True)
        ]
        if max(ratios) * _compute_reached(weights, wished) <= (1 + _CLOSE) * _value(
            weights, wished, ratios
        ):
            break
        weights = [w * r for w, r in zip(weights, ratios, strict=True)]
        total = math.fsum(w * wish for w, wish in zip(weights, wished, strict=True))
        weights = [w / total for w in weights]
    floor = max(weights) * SMALLEST_WEIGHT
    return {t: Fraction(max(w, floor)) for t, w in zip(tables, weights, strict=True)}


def _compute_reached(weights: Sequence[float], wished: Sequence[float]) -> float:
    return math.fsum(w * wish for w, wish in zip(weights, wished, strict=True))


def _value(weights: Sequence[float], wished: Sequence[float], ratios: Sequence[float]) -> float:
    return math.fsum(w * wish * r for w, wish, r in zip(weights, wished, ratios, strict=True))
