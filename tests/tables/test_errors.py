"""Errors of tables: closed forms, published numbers, and many releases: tables.md, Lemma 6."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dphist.noise.repeatable import repeatable_source
from dphist.tables import Tables
from dphist.tables.lattice import (
    Lattice,
    compute_bounded_variances,
    compute_scales,
    compute_weighted_variances,
    equal_variances,
)

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)

# In units of one Gaussian count at the same rho: equal errors; smallest and largest with a weight
# of 1 a table; the objective of ResidualPlannerPlus, as its own code gives it.
PUBLISHED = [
    ((18, 2, 50), 3, 2.226, (2.047, 2.359), 5962.5176),
    ((9, 6, 2, 50, 12), 2, 3.144, (2.784, 3.359), 11602.5156),
    (ADULT, 2, 4.328, (3.654, 4.794), 25704.8726),
]


def lattice_of(shape: tuple[int, ...], ways: int) -> Lattice:
    """All tables of at most a number of keys."""
    found = [t for most in range(ways + 1) for t in combinations(range(len(shape)), most)]
    return Lattice(shape, tuple(found))


def variances(lattice: Lattice, relative: Any) -> dict[Any, Fraction]:
    """Variances of the cells of each table at 2 rho = 1."""
    squared = {t: s**2 for t, s in compute_scales(lattice, Fraction(1, 2), relative).items()}
    return {t: lattice.variance(t, squared) for t in lattice.family}


@pytest.mark.parametrize(("shape", "ways", "equal", "weighted", "objective"), PUBLISHED)
def test_equal_errors_are_those_of_the_closed_form(
    shape: Any, ways: int, equal: float, weighted: tuple[float, float], objective: float
) -> None:
    lattice = lattice_of(shape, ways)
    found = variances(lattice, equal_variances(lattice))
    closed = sum(math.prod(Fraction(shape[i] - 1, shape[i] + 1) for i in t) for t in lattice.family)
    assert all(abs(v / closed - 1) < Fraction(1, 10**11) for v in found.values())
    assert round(math.sqrt(closed), 3) == equal
    ones = variances(
        lattice, compute_weighted_variances(lattice, dict.fromkeys(lattice.family, Fraction(1)))
    )
    errors = [round(math.sqrt(v), 3) for v in ones.values()]
    assert (min(errors), max(errors)) == weighted
    cells = {t: Fraction(math.prod(shape[i] for i in t)) for t in lattice.family}
    each = variances(lattice, compute_weighted_variances(lattice, cells))
    assert round(float(sum(cells[t] * v for t, v in each.items())), 4) == objective


def test_weights_minimize_what_they_weigh() -> None:
    lattice = Lattice((5, 4, 3), ((0, 1), (1, 2), (0,)))
    weights = {(0, 1): Fraction(1), (1, 2): Fraction(7), (0,): Fraction(2)}
    best = compute_weighted_variances(lattice, weights)

    def weigh(relative: Any) -> Fraction:
        found = variances(lattice, relative)
        return sum((w * found[t] for t, w in weights.items()), Fraction(0))

    least = weigh(best)
    for table in lattice.family:
        for factor in (Fraction(9, 10), Fraction(11, 10)):
            assert weigh({**best, table: best[table] * factor}) > least


def test_errors_asked_are_in_their_ratio_where_they_can_be() -> None:
    lattice = lattice_of((2,) * 15, 2)
    least = max(
        variances(
            lattice, compute_bounded_variances(lattice, dict.fromkeys(lattice.tables, Fraction(1)))
        ).values()
    )
    assert round(math.sqrt(least), 3) == 4.181  # equal errors: 4.203
    asked = Tables(
        rho="0.001", keys={"a": range(6), "b": range(9)}, tables=["a+b", "a"], errors={"a": ".4"}
    )
    errors = asked.errors_of_cells()
    assert abs(errors["a"] / errors["a+b"] - 0.4) < 1e-3
    worse = Tables(
        rho="0.001", keys={"a": range(6), "b": range(9)}, tables=["a+b", "a"], errors={"a": 10}
    )
    assert worse.errors_of_cells()["a+b"] < asked.errors_of_cells()["a+b"]


SHAPE = (3, 4, 2)
KEYS = {"a": ["x", "y", "z"], "b": [1, 2, 3, 4], "c": [False, True]}


def test_cells_vary_as_stated() -> None:
    """Cells, sums, ranges and differences of 800 releases, against their stated errors."""
    mechanism = Tables(rho="0.5", keys=KEYS, tables=["a+b+c"])
    assert abs(mechanism.expected_error() ** 2 - 3.2) < 0.06
    counts = np.arange(24).reshape(SHAPE) * 7
    tables = [t for most in range(4) for t in combinations("abc", most)]
    asked: list[Any] = [
        ([(1, {"a": ["x", "z"]})], counts[[0, 2]].sum()),
        ([(1, {"b": [2, 3, 4], "c": True})], counts[:, 1:, 1].sum()),
        ([(1, {"a": "x"}), (-1, {"a": "y"})], (counts[0] - counts[1]).sum()),
        (
            [(2, {"a": "x", "b": 1}), (-3, {"b": [1, 2]})],
            2 * counts[0, 0].sum() - 3 * counts[:, :2].sum(),
        ),
    ]
    source = repeatable_source()
    draws, cells, sums = 800, dict.fromkeys(tables, 0.0), np.zeros((800, len(asked)))
    for draw in range(draws):
        t = mechanism.release(counts, source).value
        for names in tables:
            true = counts.sum(axis=tuple(i for i, n in enumerate("abc") if n not in names))
            cells[names] = cells[names] + (t.table(*names).counts - true) ** 2
        sums[draw] = [t.combine(terms).value - true for terms, true in asked]
    for names in tables:
        stated = float(t.table(*names).errors.flat[0]) ** 2
        # A mean of 800 squares of normal numbers is within 23 % in all of 60 cases.
        assert np.abs(cells[names] / draws / stated - 1).max() < 0.23
    for place, (terms, _) in enumerate(asked):
        error = math.sqrt(t._variance(t.make_terms(terms)))
        assert abs(np.mean(sums[:, place])) < 4.5 * error / math.sqrt(draws)
        assert abs(np.mean(sums[:, place] ** 2) / error**2 - 1) < 0.23
        low, high = t.combine(terms).low, t.combine(terms).high
        assert abs((high - low) / 2 - 1.96 * error) < 0.01 * error
