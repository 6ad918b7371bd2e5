"""The law of a release of tables: its tables, what one record pays, and the scales of its noise."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.privacy.epsilon_search import down, find_largest_rho
from dphist.tables.contrasts import root_above
from dphist.tables.keys import Names
from dphist.tables.lattice import (
    SMALLEST_WEIGHT,
    Lattice,
    Table,
    compute_bounded_variances,
    compute_scales,
    compute_weighted_variances,
    equal_variances,
    too_small,
)

_MOST_STEPS = 400
_ROOM = 1 + Fraction(1, 2**20)  # for roots that are rounded

Numbers = tuple[Fraction, ...] | None


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho of 9 digits of which Gaussian noise is (epsilon, delta)-DP.

    Raises
    ------
    ParameterError
        If there is none.

    >>> rho = largest_rho(Fraction(1), Fraction(1, 10**6))
    >>> float(rho), gaussian_epsilon(2 * rho, Fraction(1, 10**6)) <= 1
    (0.0280144819, True)
    """
    return find_largest_rho(lambda rho: gaussian_epsilon(2 * rho, delta) <= epsilon, epsilon)


@lru_cache(maxsize=256)
def locate_tables(
    shape: tuple[int, ...], names: Names, tables: tuple[Names, ...]
) -> tuple[Table, ...]:
    """Return each table by the positions of its keys among those with at least two values."""
    kept = [name for name, size in zip(names, shape, strict=True) if size > 1]
    return tuple(tuple(i for i, name in enumerate(kept) if name in table) for table in tables)


@lru_cache(maxsize=256)
def make_lattice(
    shape: tuple[int, ...], places: tuple[Table, ...], ranges: frozenset[int] = frozenset()
) -> Lattice:
    """Return the lattice of tables over the keys with at least two values.

    Parameters
    ----------
    ranges : positions of keys of which ranges are asked, among those.
    """
    return Lattice(tuple(size for size in shape if size > 1), tuple(dict.fromkeys(places)), ranges)


@lru_cache(maxsize=256)
def choose_scales(
    shape: tuple[int, ...],
    places: tuple[Table, ...],
    rho: Fraction,
    weights: Numbers,
    errors: Numbers,
    ranges: frozenset[int] = frozenset(),
) -> Mapping[Table, Fraction]:
    """Return sigma_A of each table of the lattice, for which one record pays at most rho.

    Mechanisms of the same tables share them, so they are read-only.

    Parameters
    ----------
    places : the tables asked; two may be one, after keys with one value were dropped.
    weights, errors : of the tables asked, as for `Tables`; None for equal errors.
    ranges : as for `make_lattice`.
    """
    lattice = make_lattice(shape, places, ranges)
    if weights is not None:
        summed: dict[Table, Fraction] = dict.fromkeys(lattice.tables, Fraction(0))
        for place, weight in zip(places, weights, strict=True):
            summed[place] += weight
        relative = compute_weighted_variances(lattice, summed)
    elif errors is not None:
        pairs = list(zip(places, errors, strict=True))
        wished = {t: min(each for place, each in pairs if place == t) for t in lattice.tables}
        relative = compute_bounded_variances(lattice, wished)
    else:
        relative = equal_variances(lattice)
    return MappingProxyType(compute_scales(lattice, rho, relative))


def bound_scales(
    shape: tuple[int, ...],
    places: tuple[Table, ...],
    rho: Fraction,
    weights: Numbers,
    errors: Numbers,
    ranges: frozenset[int],
    found: frozenset[int],
) -> dict[Table, Fraction]:
    """Return bounds on sigma_A of each table, for every number of values of some keys up to these.

    sigma_A**2 is r_A times the sum of all shares over r, over 2 rho, and the sum grows with the
    number of values n (`docs/understand/proofs/tables.md`, Lemma 13). With equal variances, r_A has
    a factor 1 + 1/n for each key, at most 3/2; with weights it grows with n. Weights that `errors`
    give are all between 1 and `SMALLEST_WEIGHT`, up to a factor.

    Parameters
    ----------
    found : positions of keys that may have fewer values, in the lattice; all else as for
        `choose_scales`.
    """
    lattice = make_lattice(shape, places, ranges)
    if weights is None and errors is None:
        least = equal_variances(lattice)
        most = {t: r * Fraction(3, 2) ** len(found & {*t}) for t, r in least.items()}
    else:
        low, high = (dict.fromkeys(lattice.tables, Fraction(0)) for _ in range(2))
        smallest = Fraction(SMALLEST_WEIGHT) / len(places)
        for place, weight in zip(places, weights or [None] * len(places), strict=True):
            low[place] += smallest if weight is None else weight
            high[place] += 1 if weight is None else weight
        least = compute_weighted_variances(lattice, high)
        most = compute_weighted_variances(lattice, low)
    spent = sum((lattice.share(t) / least[t] for t in lattice.family), Fraction(0))
    return {t: root_above(_ROOM * spent * r / (2 * rho)) for t, r in most.items()}


def check_found_scales(
    lattice: Lattice,
    bounds: Mapping[Table, Fraction],
    found: frozenset[int],
    beside: str | None = None,
) -> None:
    """Refuse scales that might be beyond those that noise is drawn at, with fewer values of keys.

    Parameters
    ----------
    lattice : with the most values, so the length of a contrast is below their number.
    bounds : what the scales are at most, whatever is found.
    found : positions of keys that may have fewer.
    beside : as for `check_scales`.

    Raises
    ------
    ParameterError
    """
    for table, scale in bounds.items():
        for i in table:
            scale *= lattice.shape[i] if i in found else lattice.noise(i).longest
        if scale > LARGEST_SIGMA:
            raise too_small(("epsilon", "rho"), beside)


@lru_cache(maxsize=256)
def rho_of_exchange(
    shape: tuple[int, ...],
    places: tuple[Table, ...],
    rho: Fraction,
    weights: Numbers,
    errors: Numbers,
    ranges: frozenset[int] = frozenset(),
) -> Fraction:
    """Return what a record costs that is exchanged for another; parameters as `choose_scales`."""
    scales = choose_scales(shape, places, rho, weights, errors, ranges)
    return make_lattice(shape, places, ranges).exchange_cost(scales, rho)


@lru_cache(maxsize=256)
def rho_of_first(
    shape: tuple[int, ...],
    places: tuple[Table, ...],
    rho: Fraction,
    weights: Numbers,
    errors: Numbers,
    rows: int,
    axis: int | None,
) -> Fraction:
    """Return the rho of one row alone, where rows that differ on a key together pay at most rho.

    Parameters
    ----------
    shape, places, weights, errors : as for `choose_scales`.
    rows, axis : as for `Lattice.cost_of_rows`.
    """
    lattice, found = make_lattice(shape, places), rho / rows
    for _ in range(_MOST_STEPS):
        scales = choose_scales(shape, places, found, weights, errors)
        paid = lattice.cost_of_rows(scales, rho, rows, axis)
        if paid <= rho:
            return found
        # In proportion, but for rounded scales; each step is at least one of the last digit.
        found = down(found * rho / paid)
    raise RuntimeError("no noise was found that costs what was asked")
