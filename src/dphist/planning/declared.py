"""What kinds declare for planning, and what every plan states."""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from dphist.document.kind import kinds
from dphist.document.planning import Column, Found, Planning, Quantity, only_data_show
from dphist.errors import ParameterError
from dphist.privacy import ApproxDP, PureDP, find_delta
from dphist.privacy.rounding import DOWN, UP, decimal, exp_up
from dphist.release.kind_names import kind_name
from dphist.release.maker import find_target
from dphist.release.release import Release

_ENDLESS = 30  # above this a guess may be certain


def count_guessers(epsilon: Fraction, delta: Fraction = Fraction(0)) -> int:
    """Return how many of 100 people guess right who is in the data, on average, at most.

    Each of them knows all other data, holds both cases for equally likely, and sees the release.
    No rule of guessing is right with a probability above (e**epsilon + delta) / (1 + e**epsilon)
    (Kairouz, Oh and Viswanath 2015, Theorem 2.1, for equal priors). Rounded up.

    >>> count_guessers(Fraction(1)), count_guessers(Fraction(1, 10)), count_guessers(Fraction(40))
    (74, 53, 100)
    """
    if epsilon > _ENDLESS:
        return 100
    odds = exp_up(decimal(epsilon, UP))
    above = UP.multiply(Decimal(100), UP.add(odds, decimal(delta, UP)))
    return min(math.ceil(UP.divide(above, DOWN.add(odds, Decimal(1)))), 100)


EPSILON = Column("epsilon", "ε", "Total ε of the release.", holds=Fraction)
DELTA = Column("delta", "δ", "Total δ of the release.", holds=Fraction, role="bound")
GUESSED_RIGHT = Column(
    "guessed_right",
    "Guess right",
    "Of 100 people who look at the release, at most this many guess right, on average, "
    "whether a given {one} is in the data. Without the release, 50 do.",
)


def list_planned_kinds() -> Mapping[str, Planning]:
    """Return how releases are planned, by kind."""
    return {kind.name: kind.planning for kind in kinds() if kind.planning is not None}


def find_planning(kind: str) -> Planning:
    """Return how releases of a kind are planned.

    Raises
    ------
    ParameterError
        If there is no such kind, or it declares nothing for planning.
    """
    name = kind_name(kind) if isinstance(kind, str) else kind
    for each in kinds():
        if each.name == name:
            if each.planning is None:
                raise ParameterError(
                    "kind",
                    "must be one that can be planned: the kind "
                    f"{name} declares no settings of a plan",
                )
            return each.planning
    raise ParameterError("kind", f"must be one of {', '.join(list_planned_kinds())}")


def find_columns(kind: str) -> Mapping[str, Column]:
    """Return the columns that a plan of a kind may have, by name."""
    held = [EPSILON, DELTA, *find_planning(kind).columns, GUESSED_RIGHT]
    return {column.name: column for column in held}


def find_quantities(kind: str) -> Mapping[str, Quantity]:
    """Return what a criterion for releases of a kind may be about, by name."""
    return {
        "epsilon": Quantity(_epsilon),
        "delta": Quantity(_delta),
        **find_planning(kind).quantities,
        "bounding error": Quantity(only_data_show, "may"),
    }


def list_examples(kind: str) -> list[str]:
    """Return criteria that a plan of a kind accepts, for its help and errors."""
    quantities = find_planning(kind).quantities
    shares = [
        f"{name} < {each.example}" for name, each in quantities.items() if each.percent != "never"
    ]
    examples = shares[:1] or ["epsilon <= 1"]
    return [*examples, "at least 50 labels"] if "labels" in quantities else examples


def _epsilon(release: Release, _percent: bool) -> Found | str:
    total = _total(release)
    if total is None:
        return "the guarantee states no epsilon; convert it at a delta of your choice"
    return Found(total.epsilon, f"the release satisfies {total}")


def _delta(release: Release, _percent: bool) -> Found:
    total = _total(release)
    delta = find_delta(release.guarantee) if total is None else find_delta(total)
    return Found(delta, f"the release satisfies {total or release.guarantee}")


def _total(release: Release) -> PureDP | ApproxDP | None:
    """Return what the release costs in all: its target, or a guarantee that states an epsilon."""
    target = find_target(release.mechanism)
    if target is not None and target.releases == 1 and release.users is None:
        return target.guarantee
    guarantee = release.guarantee
    return guarantee if isinstance(guarantee, PureDP | ApproxDP) else None
