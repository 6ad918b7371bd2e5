"""OpenDP: measurements of its Python package, and faults that its tracker has open.

python -m benchmarks.audit_others.opendp_cases [CASE [about]]
"""

import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.audit_others.cases import Case, Pair, serve

dp: Any = importlib.import_module("opendp.prelude")
pl: Any = importlib.import_module("polars")
dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")

# Neighbors are as far apart as each claim says: a record more, or a user's records.
ONE = (("no record, and one", 0, 1), ("9 and 10 records", 9, 10))
REAL = (("sums that differ by 1", 0.0, 1.0), ("by less", 0.25, 1.0))
LABELS: tuple[Pair, ...] = (("no label, and one", {}, {"a": 1}),)
SCORES = (("all equal, and not", [0, 0], [1, -1]),)
LEAVES = (("a user in every leaf", [0] * 16, [1] * 16),)
INTEGERS = dp.atom_domain(T=int), dp.absolute_distance(T=int)
FLOATS = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def _pure(measurement: Any, distance: Any) -> Callable[[], tuple[float, float]]:
    return lambda: (float(measurement.map(distance)), 0.0)


def _pair(measurement: Any, distance: Any) -> Callable[[], tuple[float, float]]:
    def claim() -> tuple[float, float]:
        epsilon, delta = measurement.map(distance)
        return float(epsilon), float(delta)

    return claim


def _at_and_delta(measurement: Any, distance: Any) -> Callable[[], tuple[float, float]]:
    """The rho of noise and the delta of a threshold, at a delta of 1e-4 more."""
    profile = dp.c.make_zCDP_to_approxDP(measurement)

    def claim() -> tuple[float, float]:
        curve, more = profile.map(distance)
        return float(curve.epsilon(delta=1e-4)), 1e-4 + float(more)

    return claim


def _at(measurement: Any, distance: Any, delta: float) -> Callable[[], tuple[float, float]]:
    """What the library makes of a rho: epsilon at a delta."""
    profile = dp.c.make_zCDP_to_approxDP(measurement)
    return lambda: (float(profile.map(distance).epsilon(delta=delta)), delta)


COUNTED = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
COUNTS = COUNTED, dp.l01inf_distance(dp.absolute_distance(T=int))
COUNTS_2 = COUNTED, dp.l02inf_distance(dp.absolute_distance(T=int))
laplace = dp.m.make_laplace(*INTEGERS, scale=1.0)
laplace_float = dp.m.make_laplace(*FLOATS, scale=1.0)
geometric = dp.m.make_geometric(*INTEGERS, scale=1.0, bounds=(0, 10))
gaussian = dp.m.make_gaussian(*INTEGERS, scale=1.0)
gaussian_float = dp.m.make_gaussian(*FLOATS, scale=1.0)
laplace_threshold = dp.m.make_laplace_threshold(*COUNTS, scale=1.0, threshold=5)
gaussian_threshold = dp.m.make_gaussian_threshold(*COUNTS_2, scale=1.0, threshold=4)
SCORED = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
noisy_max = dp.m.make_noisy_max(*SCORED, dp.max_divergence(), scale=1.0)
noisy_max_zcdp = dp.m.make_noisy_max(*SCORED, dp.zero_concentrated_divergence(), scale=1.0)
noisy_top = dp.m.make_noisy_top_k(*SCORED, dp.max_divergence(), k=2, scale=2.0)
response = dp.m.make_randomized_response_bool(prob=0.75)


def _tree(metric: Any, noise: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int), size=16), metric
    return dp.t.make_b_ary_tree(*space, leaf_count=16, branching_factor=16) >> noise


tree_laplace = _tree(dp.l1_distance(T=int), dp.m.then_laplace(scale=2.0))
tree_gaussian = _tree(dp.l2_distance(T=int), dp.m.then_gaussian(scale=8.0))
two_leaves = (
    dp.t.make_b_ary_tree(
        dp.vector_domain(dp.atom_domain(T=int), size=2), dp.l1_distance(T=int),
        leaf_count=2, branching_factor=2,
    )
    >> dp.m.then_laplace(scale=2.0)
)  # fmt: skip


def _frame(columns: dict[str, Any], query: Any, margin: Any, bound: Any) -> tuple[Any, Any]:
    """Return a measurement of a frame with these columns, and its claim."""
    domain = dp.lazyframe_domain([dp.series_domain(name, each) for name, each in columns.items()])
    measurement = dp.m.make_private_lazyframe(
        dp.with_margin(domain, margin), dp.frame_distance(dp.symmetric_distance()),
        dp.max_divergence(), query,
    )  # fmt: skip
    return measurement, _pure(measurement, [bound])


def _released(measurement: Any, column: str) -> Callable[[Any], Any]:
    return lambda values: measurement(pl.LazyFrame({column: values})).collect().to_dicts()


codes, codes_claim = _frame(
    {"x": dp.atom_domain(T=float, nan=False)},
    pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").cut([1.0]).to_physical().dp.sum((0, 1), scale=1.0)
    ),
    dp.polars.Margin(max_length=101), dp.polars.Bound(per_group=1),
)  # fmt: skip
total, total_claim = _frame(
    {"x": dp.atom_domain(T=float, nan=False)},
    pl.LazyFrame(schema={"x": pl.Float64}).select(pl.col("x").dp.sum((0.0, 1.0), scale=1.0)),
    dp.polars.Margin(max_length=101), dp.polars.Bound(per_group=1),
)  # fmt: skip
casts, casts_claim = _frame(
    {"x": dp.option_domain(dp.atom_domain(T=float))},
    pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").fill_null(0.0).cast(pl.Int64, strict=False).count().dp.noise(scale=1.0)
    ),
    dp.polars.Margin(max_length=16, invariant="lengths"), dp.polars.Bound(per_group=2),
)  # fmt: skip

CASES = {
    "make_laplace, int": Case(laplace, _pure(laplace, 1), ONE, ""),
    "make_laplace, float": Case(laplace_float, _pure(laplace_float, 1.0), REAL, ""),
    "make_geometric, bounds": Case(geometric, _pure(geometric, 1), ONE, "bounds"),
    "make_gaussian, int": Case(gaussian, _at(gaussian, 1, 0.1), ONE, ""),
    "make_gaussian, float": Case(gaussian_float, _at(gaussian_float, 1.0, 0.1), REAL, ""),
    "make_randomized_response_bool": Case(
        response, _pure(response, 1), (("a bit", False, True),), ""
    ),
    "make_laplace_threshold": Case(
        laplace_threshold, _pair(laplace_threshold, (1, 1, 1)), LABELS, "issue 2922"
    ),
    "make_gaussian_threshold": Case(
        gaussian_threshold, _at_and_delta(gaussian_threshold, (1, 1, 1)), LABELS, "issue 2922"
    ),
    "make_noisy_max": Case(noisy_max, _pure(noisy_max, 1), SCORES, ""),
    "make_noisy_max, zCDP": Case(
        noisy_max_zcdp, _at(noisy_max_zcdp, 1, 0.13), SCORES, "issue 2911, closed"
    ),
    "make_noisy_top_k": Case(
        noisy_top, _pure(noisy_top, 1), (("three scores", [0, 0, 0], [1, -1, -1]),), ""
    ),
    "make_b_ary_tree, laplace": Case(
        tree_laplace, _pure(tree_laplace, 1), (("a record", [0] * 16, [1] + [0] * 15),), ""
    ),
    "make_b_ary_tree, gaussian": Case(
        tree_gaussian, _at(tree_gaussian, 4, 0.127), LEAVES, "issue 2924"
    ),
    "make_b_ary_tree, large counts": Case(
        two_leaves, _pure(two_leaves, 1),
        (("sums beyond 2**31", [2**31 - 1, 0], [2**31 - 1, 1]),), "issue 2925",
    ),
    "Polars, sum": Case(
        _released(total, "x"), total_claim, (("a row more", [0.5] * 20, [1.0, *[0.5] * 20]),), ""
    ),
    "Polars, codes of cut": Case(
        _released(codes, "x"), codes_claim, (("a row more", [0.5] * 20, [2.0, *[0.5] * 20]),),
        "issue 2944",
    ),
    "Polars, count after a cast": Case(
        _released(casts, "x"), casts_claim,
        (("a row replaced", [1.0] * 16, [float("nan"), *[1.0] * 15]),), "issue 2938",
    ),
}  # fmt: skip

if __name__ == "__main__":
    serve("opendp", CASES)
