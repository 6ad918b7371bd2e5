"""Conditions on keys, as answers of released tables take them, and covariances of such counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.errors import ParameterError
from dphist.tables.key_noise import KeyNoise
from dphist.tables.keys import OTHER, Key, Keys, list_names
from dphist.tables.lattice import Table, subsets

_MOST = 1e150  # a factor below this has a square, and NaN is not below


@dataclass(frozen=True, slots=True)
class Term:
    """A count times a factor, by the weights of the values of each key that it names."""

    factor: float
    weights: Mapping[int, FloatArray]

    @property
    def table(self) -> Table:
        """The table of the keys that it names."""
        return tuple(sorted(self.weights))

    def weigh(self, counts: FloatArray) -> float:
        """Return the weighted sum of the cells of `table`."""
        for i in reversed(self.table):
            counts = counts @ self.weights[i]
        return self.factor * float(counts)


def read_terms(given: Any) -> list[tuple[float, Mapping[str, Any]]]:
    """Return factors and conditions, checked.

    Raises
    ------
    ParameterError
    """
    problem = ParameterError(
        "terms", "must be pairs of a finite number and the conditions of a count: (1, {'sex': 'f'})"
    )
    if not isinstance(given, list | tuple):
        raise problem
    found = []
    for each in given:
        if not isinstance(each, list | tuple) or len(each) != 2:
            raise problem
        factor, where = each
        if not (isinstance(where, Mapping) and _is_small(factor)):
            raise problem
        found.append((float(factor), where))
    return found


def _is_small(factor: Any) -> bool:
    return isinstance(factor, Real) and -_MOST < factor < _MOST  # type: ignore[operator]


def check_names(where: Mapping[str, Any], keys: Keys) -> None:
    """Refuse conditions on what is no key.

    Raises
    ------
    ParameterError
    """
    for name in where:
        if name not in keys.names:
            remedy = f"the keys are {list_names(keys.names)}"
            if name == "level":
                remedy = "a level goes first, without its name: interval(0.9, ...)"
            raise ParameterError(str(name), "must be a key of the tables", remedy)


def find_weights(key: Key, wanted: Any) -> FloatArray:
    """Return 1 for the values of a key that a condition names, and 0 for others.

    Raises
    ------
    ParameterError
        If a value is none of the key's.
    """
    found = np.zeros(key.size)
    for each in wanted if isinstance(wanted, list) else [wanted]:
        places = _find_places(key, each)
        if found[places].any():
            raise ParameterError(key.name, "must name each value once")
        found[places] = 1.0
    return found


def _find_places(key: Key, wanted: Any) -> slice:
    if key.other and wanted == OTHER:
        return slice(key.size - 1, key.size)
    if key.axis is not None:
        if not isinstance(wanted, tuple) or len(wanted) != 2:
            raise ParameterError(
                key.name,
                "must be a range of bins, such as (20, 40): from 20 to below 40, both edges",
            )
        low, high = (key.axis.position(end, key.name) for end in wanted)
        if not low < high:
            raise ParameterError(key.name, "must be a range whose start is below its stop")
        return slice(low, high)
    plain = wanted.item() if isinstance(wanted, np.generic) else wanted
    for place, value in enumerate(key.values):
        if type(value) is type(plain) and value == plain:
            return slice(place, place + 1)
    raise ParameterError(
        key.name, "must be a value of the key, or a list of values", "see keys of the tables"
    )


def compute_covariance(
    ones: Sequence[Term],
    others: Sequence[Term],
    variances: Mapping[Table, float],
    noise: Callable[[int], KeyNoise | None],
) -> float:
    """Return the covariance of two sums of counts, by the contrasts that they share.

    A count with weights g_i on the values of key i has, in the contrasts of A, the product of
    g_i less its mean over A, times that of the means over all other keys. A key that a count
    does not name has equal weights, which have no contrast. Noise is a product over keys, too, so
    the covariance of two counts is one of covariances along each key.

    Parameters
    ----------
    variances : sigma_A**2, by the positions of keys.
    noise : that of the contrasts of the key at a position; None if it has one value.
    """
    total = 0.0
    for one in ones:
        for other in others:
            along = {}
            for i in sorted({*one.weights} & {*other.weights}):
                held = noise(i)
                if held is not None:
                    along[i] = held.covariance(one.weights[i], other.weights[i])
            for part in subsets(tuple(along)):
                each = one.factor * other.factor * variances[part]
                for i in part:
                    each *= along[i]
                for term in (one, other):
                    for i, weights in term.weights.items():
                        if i not in part:
                            each *= float(weights.mean())
                total += each
    return total


def variances_of_cells(
    table: Table, variances: Mapping[Table, float], noise: Callable[[int], KeyNoise | None]
) -> FloatArray:
    """Return the variance of each cell of a table: one, or with ranges an array.

    It has a dimension for each key, of one value where all values of the key have the same.

    Parameters
    ----------
    variances, noise : as for `compute_covariance`.
    """
    several = tuple(i for i in table if noise(i) is not None)
    parts = [variances_of_part(part, table, variances, noise) for part in subsets(several)]
    return np.asarray(sum(parts[1:], parts[0]))


def variances_of_part(
    part: Table,
    table: Table,
    variances: Mapping[Table, float],
    noise: Callable[[int], KeyNoise | None],
) -> FloatArray:
    """Return what the contrasts of a part of a table add to the variance of each of its cells."""
    found = np.full([1] * len(table), variances[part])
    for axis, i in enumerate(table):
        held = noise(i)
        if held is None:
            continue
        if i not in part:
            found = found * (1 / held.size**2)
        elif not held.ordered:
            found = found * (1 - 1 / held.size)
        else:
            along = [1] * len(table)
            along[axis] = held.size
            found = found * held.of_values().reshape(along)
    return found
