"""How far released labels and counts are from the truth; for labels and for streams."""

from collections.abc import Callable, Mapping
from typing import Any

from dphist.document.compared import Case, Measure
from dphist.errors import ParameterError
from dphist.privacy.calibration import calibrate

TOTAL_ERROR = Measure(
    "total error",
    "records",
    "The sum over all labels of |released count - count|; a label that is not released counts 0.",
)
FOUND = Measure(
    "labels found",
    "labels",
    "Labels that are released and do occur.",
    larger_is_better=True,
)
ERROR_OF_COUNT = Measure(
    "error of a count",
    "records",
    "The mean over released labels of |released count - count|.",
)
MEASURES = (TOTAL_ERROR, FOUND, ERROR_OF_COUNT)


def errors_of(
    released: Mapping[Any, int | None], truth: Mapping[Any, int], total: int
) -> tuple[float | None, float, float | None]:
    """Return the total error, the labels found, and the error of a count.

    Parameters
    ----------
    released : counts by label; None where only labels are released.
    truth : true counts by label, of all labels that occur.
    total : their sum.
    """
    found = float(sum(truth.get(label, 0) > 0 for label in released))
    counted = {label: count for label, count in released.items() if count is not None}
    if len(counted) < len(released):
        return None, found, None
    true = {label: truth.get(label, 0) for label in counted}
    away = sum(abs(count - true[label]) for label, count in counted.items())
    missed = total - sum(true.values())
    return float(away + missed), found, away / len(counted) if counted else None


class CaseOfTotal(Case):
    """Data with labels, whose mechanisms are calibrated to a total (epsilon, delta)."""

    measures: tuple[Measure, ...] = MEASURES

    def __init__(self, data: Any, opened: Any, delta: Any) -> None:
        if delta is None:
            raise ParameterError("delta", "must be given: mechanisms for labels have a total delta")
        super().__init__(data, opened, delta)

    def make(self, mechanism: Callable[..., Any], epsilon: Any, **parameters: Any) -> Any:
        """Return the mechanism that costs (epsilon, delta) in all."""
        return calibrate(mechanism, epsilon=epsilon, **parameters | {"delta": self.delta})
