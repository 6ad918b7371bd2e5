"""SmartNoise SQL, on data frames.

python -m benchmarks.audit_others.smartnoise_cases [CASE [about]]
"""

import importlib
from collections.abc import Callable
from typing import Any

import pandas as pd

from benchmarks.audit_others.cases import Case, Pair, serve

snsql: Any = importlib.import_module("snsql")

ROWS: tuple[Pair, ...] = (
    ("no row, and one", [], [["u", "a", 1.0]]),
    ("a row more", [["v", "a", 1.0]] * 4, [["v", "a", 1.0]] * 4 + [["u", "a", 1.0]]),
)
LABELS: tuple[Pair, ...] = (
    ("a label of one user", [["v", "a", 1.0]] * 4, [["v", "a", 1.0]] * 4 + [["u", "b", 1.0]]),
)


def _released(query: str, *, delta: float = 0.01, rows: bool = True) -> Callable[[Any], Any]:
    table: dict[str, Any] = {
        "row_privacy": rows,
        "max_ids": 1,
        "user": {"type": "string", "private_id": not rows},
        "label": {"type": "string"},
        "value": {"type": "float", "lower": 0.0, "upper": 1.0, "nullable": False},
    }
    metadata = {"": {"S": {"T": table}}}

    def run(data: Any) -> Any:
        frame = pd.DataFrame(data, columns=["user", "label", "value"])
        reader = snsql.from_df(
            frame, privacy=snsql.Privacy(epsilon=1.0, delta=delta), metadata=metadata
        )
        return [list(each) for each in reader.execute(query)[1:]]

    return run


def _claim() -> tuple[float, float]:
    return 1.0, 0.01


CASES = {
    "COUNT(*)": Case(_released("SELECT COUNT(*) FROM S.T"), _claim, ROWS, ""),
    "SUM, a value missing": Case(
        _released("SELECT SUM(value) FROM S.T"), _claim,
        (("a missing value", [["v", "a", 1.0]] * 4, [["v", "a", 1.0]] * 4 + [["u", "a", None]]),),
        "a null",
    ),
    "SUM": Case(_released("SELECT SUM(value) FROM S.T"), _claim, ROWS, "values 0 to 1"),
    "COUNT by label": Case(
        _released("SELECT label, COUNT(*) FROM S.T GROUP BY label"), _claim,
        LABELS, "labels from data",
    ),
    "COUNT by label, of users": Case(
        _released("SELECT label, COUNT(DISTINCT user) FROM S.T GROUP BY label",
                  rows=False),
        _claim, LABELS, "labels from data",
    ),
}  # fmt: skip

if __name__ == "__main__":
    serve("smartnoise-sql", CASES)
