"""PipelineDP, by its engine on lists.

python -m benchmarks.audit_others.pipelinedp_cases [CASE [about]]
"""

import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.audit_others.cases import Case, Pair, serve

pipeline_dp: Any = importlib.import_module("pipeline_dp")

PUBLIC = ["a", "b"]
ALONE: tuple[Pair, ...] = (
    ("a user alone, and two", [["w", "b", 1.0]], [["w", "b", 1.0], ["u", "a", 1.0]]),
    ("a user beside others", [["w", "a", 1.0]] * 2, [["w", "a", 1.0]] * 2 + [["u", "a", 1.0]]),
    (
        "a user of two labels",
        [["w", "b", 1.0]],
        [["w", "b", 1.0], ["u", "a", 1.0], ["u", "b", 1.0]],
    ),
    ("a user of many rows", [["w", "a", 1.0]], [["w", "a", 1.0]] + [["u", "a", 1.0]] * 5),
)
MANY: tuple[Pair, ...] = (
    (
        "a user of 8 labels",
        [["w", "z", 1.0]],
        [["w", "z", 1.0], *(["u", label, 1.0] for label in "abcdefgh")],
    ),
)


def _released(
    metric: str, *, delta: float = 0, noise: str = "LAPLACE", public: bool = True, **more: Any
) -> Callable[[Any], Any]:
    def run(rows: Any) -> Any:
        budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=delta)
        engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
        parameters = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind[noise],
            metrics=[getattr(pipeline_dp.Metrics, metric)],
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            **more,
        )
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        )
        found = engine.aggregate(rows, parameters, extractors, PUBLIC if public else None)
        budget.compute_budgets()
        return {label: list(values) for label, values in sorted(found)}

    return run


def _pure() -> tuple[float, float]:
    return 1.0, 0.0


def _with_delta() -> tuple[float, float]:
    return 1.0, 0.05


CASES = {
    "COUNT": Case(_released("COUNT"), _pure, ALONE, "public labels"),
    "PRIVACY_ID_COUNT": Case(_released("PRIVACY_ID_COUNT"), _pure, ALONE, "public labels"),
    "SUM": Case(
        _released("SUM", min_value=0, max_value=1), _pure, ALONE, "public labels, values 0 to 1"
    ),
    "MEAN": Case(
        _released("MEAN", min_value=0, max_value=1), _pure, ALONE, "public labels, values 0 to 1"
    ),
    "COUNT, Gaussian": Case(
        _released("COUNT", delta=0.05, noise="GAUSSIAN"), _with_delta, ALONE, "public labels"
    ),
    "PRIVACY_ID_COUNT, labels from data": Case(
        _released("PRIVACY_ID_COUNT", delta=0.05, public=False), _with_delta, (*ALONE, *MANY),
        "labels chosen privately",
    ),
    "COUNT, labels from data": Case(
        _released("COUNT", delta=0.05, public=False), _with_delta, (*ALONE, *MANY),
        "labels chosen privately",
    ),
    "COUNT, users not bounded to labels": Case(
        _released(
            "COUNT", delta=0.05, public=False, perform_cross_partition_contribution_bounding=False
        ),
        _with_delta, MANY,
        "the documentation asks for data that are bounded already, and nothing checks it",
    ),
    "COUNT, no rows": Case(
        _released("COUNT"), _pure, (("no user, and one", [], [["u", "a", 1.0]]),), "public labels"
    ),
    "SUM, a value missing": Case(
        _released("SUM", min_value=0, max_value=1), _pure,
        (("a missing value", [["w", "a", 1.0]], [["w", "a", 1.0], ["u", "a", float("nan")]]),),
        "a NaN",
    ),
}  # fmt: skip

if __name__ == "__main__":
    serve("pipeline-dp", CASES)
