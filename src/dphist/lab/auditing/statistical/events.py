"""Events: conditions on what a run shows."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.lab.auditing.outcome import Features
from dphist.lab.auditing.statistical.weighing import Table


@dataclass(frozen=True)
class Condition:
    """One feature lies in a set, or on one side of a number.

    Attributes
    ----------
    feature : its name.
    kind : "in", "at most", "more than", "present" or "absent".
    value : the set, or the number; None for the last two.
    """

    feature: str
    kind: str
    value: Any = None

    def holds(self, features: Features) -> bool:
        """Whether it holds of an outcome."""
        if self.kind in ("present", "absent"):
            return (self.feature in features) == (self.kind == "present")
        if self.feature not in features:
            return False
        found: Any = features[self.feature]
        if self.kind == "in":
            return found in self.value
        if not is_number(found):
            return False
        return bool(found <= self.value if self.kind == "at most" else found > self.value)

    def __str__(self) -> str:
        if self.kind in ("present", "absent"):
            return f"{self.feature} is {'there' if self.kind == 'present' else 'not there'}"
        if self.kind != "in":
            return f"{self.feature} is {self.kind} {self.value}"
        shown = sorted((_short(each) for each in self.value), key=lambda text: (len(text), text))
        if len(shown) == 1:
            return f"{self.feature} is {shown[0]}"
        more = f" or {len(shown) - 5} others" if len(shown) > 6 else ""
        return f"{self.feature} is one of {', '.join(shown[: 5 if more else 6])}{more}"


@dataclass(frozen=True)
class Weighed:
    """Several features together are likelier on one neighbor, by more than a factor.

    Attributes
    ----------
    tables : log ratios of the features' values.
    weights : what each table counts.
    line : a weighted sum above it is in the event.
    """

    tables: tuple[Table, ...]
    weights: tuple[float, ...]
    line: float

    def holds(self, features: Features) -> bool:
        """Whether it holds of an outcome."""
        return self.sum_of(features) > self.line

    def sum_of(self, features: Features) -> float:
        """Return the weighted sum of an outcome."""
        return sum(
            weight * table.score(features[table.feature])
            for table, weight in zip(self.tables, self.weights, strict=True)
            if table.feature in features
        )

    def __str__(self) -> str:
        ranked = sorted(zip(self.weights, self.tables, strict=True), key=lambda pair: -pair[0])
        names = [table.feature for weight, table in ranked[:4] if weight > 0]
        return (
            f"weighed together, {', '.join(names)} and {len(self.tables) - len(names)} others are "
            f"likelier on one of the two, the weighted sum of their log ratios being above "
            f"{self.line:.3g}"
        )


@dataclass(frozen=True)
class Event:
    """Conditions that all hold."""

    conditions: tuple[Condition | Weighed, ...]

    def holds(self, features: Features) -> bool:
        """Whether it happened in a run."""
        return all(each.holds(features) for each in self.conditions)

    def __str__(self) -> str:
        return ", and ".join(str(each) for each in self.conditions)


def is_number(value: Hashable) -> bool:
    """Whether a feature's value is compared by size."""
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
