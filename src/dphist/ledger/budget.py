"""Budgets of accounts, the largest rho they admit, and the filter of entries that still fit.

The rules, and the proof that they hold when costs are chosen on the way, are in
docs/understand/proofs/ledger.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dphist.errors import Argument, ParameterError
from dphist.ledger.amounts import Cost, Totals, may_round, round_up
from dphist.parameters import Exact, decimal_text, privacy_parameter, short_number
from dphist.parameters import probability as _probability
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP
from dphist.privacy.conversion import best_order, pure_to_rho, rho_to_epsilon, rho_to_epsilon_at
from dphist.privacy.rounding import DIGITS, readable

_BISECTED_DIGITS = 14
_LONGEST = 200


def round_down(number: Fraction) -> Fraction:
    """Round down to 12 significant digits."""
    if not number:
        return number
    exponent = 0
    while number * 10**exponent < 10 ** (DIGITS - 1):
        exponent += 1
    while number * Fraction(10) ** exponent >= 10**DIGITS:
        exponent -= 1
    scale = Fraction(10) ** exponent
    return Fraction(int(number * scale)) / scale


@dataclass(frozen=True, slots=True)
class LargestRho:
    """A rho that converts to at most an epsilon, with the order of the conversion that shows it.

    The search for both is in floating point and may end elsewhere on another machine. So the entry
    of an account keeps them, and whoever verifies it evaluates the conversion at this one order.

    Attributes
    ----------
    rho : of at most 12 digits; 0 if none was found.
    order : of the conversion (docs/understand/proofs/accounting.md, Lemma 3); None for a rho of 0.
    """

    rho: Fraction
    order: Fraction | None

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, epsilon: Fraction, delta: Fraction) -> "LargestRho":
        """Search for the largest rho that converts to at most `epsilon` at `delta`."""
        low, high = Fraction(0), epsilon  # order > 1 in the conversion, so rho is below epsilon
        while high - low > high / 10**_BISECTED_DIGITS:
            middle = (low + high) / 2
            if rho_to_epsilon(middle, delta) <= epsilon:
                low = middle
            else:
                high = middle
            if high < Fraction(1, 10**30):
                return cls(Fraction(0), None)
        rounded = round_down(low)
        found = cls(rounded, best_order(rounded, delta) if rounded else None)
        # The conversion grows with rho up to its rounding; the claim is that of this very number.
        return found if found.converts(epsilon, delta) else cls(Fraction(0), None)

    def converts(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether this rho implies (epsilon, delta), by its order; the same on all machines."""
        if not self.rho:
            return self.order is None
        if self.order is None or not (self.order > 1 and self.rho > 0):
            return False
        return _compute_epsilon(self.rho, delta, self.order) <= epsilon

    def to_content(self) -> dict[str, Any]:
        """Return it as exact text, for an entry."""
        return {"rho": str(self.rho), "order": None if self.order is None else str(self.order)}

    @classmethod
    def from_content(cls, content: Any, epsilon: Fraction, delta: Fraction) -> "LargestRho":
        """Return what `to_content` wrote.

        Raises
        ------
        ParameterError
            If it does not convert to at most `epsilon`.
        """
        rho, order = content["rho"], content["order"]
        found = cls(_read(rho), None if order is None else _read(order))
        if not found.converts(epsilon, delta):
            raise ParameterError("content", "has a rho that is worth more than its epsilon")
        return found


@lru_cache(maxsize=256)  # a cap is read for every charge
def _compute_epsilon(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    return rho_to_epsilon_at(rho, delta, order)


def _read(text: Any) -> Fraction:
    """Return a fraction of digits alone: an exponent could stand for a number of any length."""
    if not isinstance(text, str) or len(text) > _LONGEST or not text.replace("/", "").isdecimal():
        raise ParameterError("content", "has a number that cannot be read")
    number = Fraction(text)
    if str(number) != text:
        raise ParameterError("content", "has a number that cannot be read")
    return number


@dataclass(frozen=True, init=False, repr=False)
class Budget:
    """The most that an account, or one person in it, may cost: fixed when it is opened.

    Parameters
    ----------
    epsilon, delta : of a pure account (epsilon alone), or of an (epsilon, delta) account.
    rho, delta : of a zCDP account (rho alone), or of a delta-approximate zCDP account.
    delta_of_entries : the part of delta of an (epsilon, delta) account that the entries' own deltas
        may add up to (default: half). The rest converts rho to epsilon.

    Attributes
    ----------
    largest_rho : what such an account is worth in rho; None of other accounts.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    delta_of_entries: Fraction
    largest_rho: LargestRho | None

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        delta: Exact | None = None,
        delta_of_entries: Exact | None = None,
        largest_rho: Any = None,
    ) -> None:
        """Check the numbers; `largest_rho` is as an entry has it, and is searched for otherwise."""
        if (epsilon is None) == (rho is None):
            raise ParameterError(
                "epsilon", "or " + Argument("rho") + " must be given, and not both"
            )
        total = Fraction(0) if delta is None else _small(delta, "delta")
        if rho is not None and delta_of_entries is not None:
            raise ParameterError(
                "delta_of_entries", "is for accounts of epsilon and delta", "omit it"
            )
        if rho is not None:
            part = total
        elif delta_of_entries is None:
            part = total / 2
        else:
            part = _small(delta_of_entries, "delta_of_entries")
            if not part < total:
                raise ParameterError("delta_of_entries", "must be below " + Argument("delta"))
        allowed = None if epsilon is None else privacy_parameter(epsilon, "epsilon")
        worth = None
        if allowed is not None and total and largest_rho is None:
            worth = LargestRho.of(allowed, total - part)
        elif allowed is not None and total:
            worth = LargestRho.from_content(largest_rho, allowed, total - part)
        elif largest_rho is not None:
            raise ParameterError("largest_rho", "is for accounts of epsilon and delta", "omit it")
        values = (
            ("epsilon", allowed),
            ("rho", None if rho is None else privacy_parameter(rho, "rho")),
            ("delta", total),
            ("delta_of_entries", part),
            ("largest_rho", worth),
        )
        for name, value in values:
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Budget({self})"

    def __str__(self) -> str:
        named = [("epsilon", self.epsilon), ("rho", self.rho), ("delta", self.delta or None)]
        return ", ".join(f"{name}={readable(value)}" for name, value in named if value is not None)

    @property
    def guarantee(self) -> PureDP | ApproxDP | ZCDP | ApproxZCDP:
        """What the account guarantees, whatever is released through it; for one of its units."""
        if self.epsilon is not None:
            return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)
        assert self.rho is not None  # noqa: S101 - the constructor has set one of the two
        return ApproxZCDP(self.rho, self.delta) if self.delta else ZCDP(self.rho)

    @property
    def most_rho(self) -> Fraction:
        """The largest sum of rhos that rule (b) admits; 0 of a pure account."""
        if self.rho is not None:
            return self.rho
        return Fraction(0) if self.largest_rho is None else self.largest_rho.rho

    def admits(self, totals: Totals, cost: Cost) -> bool:
        """Whether one more entry keeps the guarantee, whatever was seen before: rules a, b, c."""
        after = totals.plus(cost)
        return (
            self.keeps_epsilon(after)
            or self.keeps_rho(after)
            or (after.entries == 1 and self._covers_alone(cost))
        )

    def count_releases(self, totals: Totals, cost: Cost) -> int:
        """Return how many more entries of one cost are admitted, one after the other."""
        sums = [(cost.delta, self.delta_of_entries - totals.delta)]
        by_epsilon = by_rho = 0
        if self.epsilon is not None and totals.mixed == 0 and cost.epsilon is not None:
            by_epsilon = _count_steps([*sums, (cost.epsilon, self.epsilon - totals.epsilon)])
        if self.most_rho:
            by_rho = _count_steps([*sums, (cost.rho, self.most_rho - totals.rho)])
        return max(by_epsilon, by_rho, int(self.admits(totals, cost)))

    def keeps_epsilon(self, totals: Totals) -> bool:
        """Rule (a): all entries state an epsilon; these and their deltas add up to what is allowed.

        An account without a delta admits pure entries only.
        """
        return (
            self.epsilon is not None
            and totals.mixed == 0
            and totals.epsilon <= self.epsilon
            and totals.delta <= self.delta_of_entries
        )

    def keeps_rho(self, totals: Totals) -> bool:
        """Rule (b): rhos add up to at most `most_rho`, deltas to at most `delta_of_entries`."""
        return totals.rho <= self.most_rho and totals.delta <= self.delta_of_entries

    def _covers_alone(self, cost: Cost) -> bool:
        """Rule (c): the only entry keeps (epsilon, delta) by its own, sharper, statement."""
        return self.epsilon is not None and cost.alone is not None and cost.alone <= self.epsilon

    def largest_epsilon(self, totals: Totals) -> Fraction:
        """Return the largest epsilon of one more pure release, rounded down; 0 if none fits."""
        best = Fraction(0)
        if self.epsilon is not None and totals.mixed == 0:
            best = max(self.epsilon - totals.epsilon, best)
        left = self.most_rho - totals.rho
        if left > 0 and totals.delta <= self.delta_of_entries:
            best = max(_largest_pure(left), best)
        return best

    def to_content(self) -> dict[str, Any]:
        """Return the budget as exact text, for an entry."""
        content = {
            "epsilon": self.epsilon,
            "rho": self.rho,
            "delta": self.delta,
            "delta_of_entries": None if self.rho is not None else self.delta_of_entries,
        }
        worth = None if self.largest_rho is None else self.largest_rho.to_content()
        numbers = {k: None if v is None else decimal_text(v) for k, v in content.items()}
        return {**numbers, "largest_rho": worth}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "Budget":
        """Return the budget that `to_content` wrote.

        Raises
        ------
        ParameterError
            If it is none, or its largest rho is worth more than its epsilon.
        """
        part = content["delta_of_entries"]
        if content["delta"] == "0":
            part = None
        if (content["largest_rho"] is None) != (content["epsilon"] is None or part is None):
            raise ParameterError("largest_rho", "must be there for accounts of epsilon and delta")
        return cls(**{**content, "delta_of_entries": part})


def _small(value: Exact, name: str) -> Fraction:
    return short_number(_probability(value, name), name)


def _count_steps(sums: Sequence[tuple[Fraction, Fraction]]) -> int:
    """Return how often all of some costs fit into what is left of their sums.

    A sum that grows too long to store is rounded up at each step, which counts as part of it.
    """
    if any(left < 0 for _, left in sums):
        return 0
    longer = [(may_round(step, left), step, left) for step, left in sums if step]
    return min(
        (int(left / (round_up(step) if is_long else step)) for is_long, step, left in longer),
        default=0,
    )


def _largest_pure(rho: Fraction) -> Fraction:
    """Return the largest epsilon of 12 digits that costs at most `rho` as zCDP."""
    low, high = Fraction(0), 2 * rho + 2  # e tanh(e/2) >= e - 2/(e + 1) for all e
    while high - low > high / 10 ** (DIGITS + 2):
        middle = (low + high) / 2
        if pure_to_rho(middle) <= rho:
            low = middle
        else:
            high = middle
        if high < Fraction(1, 10**30):
            return Fraction(0)
    rounded = round_down(low)
    return rounded if rounded and pure_to_rho(rounded) <= rho else Fraction(0)
