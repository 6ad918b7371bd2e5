"""Entry: a mechanism of the suite, what it claims, and what is true of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from dphist.noise import rounded_gaussian, two_sided_geometric

Run = Callable[[Any], Any]
R = TypeVar("R", bound=Run)

_AT_ONCE = 4096


@dataclass(frozen=True)
class Entry:
    """A mechanism with known truth.

    Attributes
    ----------
    name : of the mechanism.
    run : takes data and returns what is released.
    pairs : neighbors (one, other), the same for a faulty mechanism and its correct twin.
    epsilon, delta : the claim.
    faulty : whether the claim is wrong.
    truth : the true guarantee, in words.
    source : who found the fault, or published the mechanism.
    """

    name: str
    run: Run
    pairs: tuple[tuple[Any, Any], ...]
    epsilon: Fraction
    delta: Fraction
    faulty: bool
    truth: str
    source: str


ENTRIES: list[Entry] = []
"""All mechanisms of the suite, in the order of the files."""


def entry(
    pairs: Sequence[tuple[Any, Any]],
    *,
    faulty: bool,
    truth: str,
    source: str,
    epsilon: object = 1,
    delta: object = 0,
) -> Callable[[R], R]:
    """Add a function to the suite under its own name."""

    def add(run: R) -> R:
        claim = Fraction(str(epsilon)), Fraction(str(delta))
        name = run.__name__.replace("_", " ")
        ENTRIES.append(Entry(name, run, tuple(pairs), *claim, faulty, truth, source))
        return run

    return add


_kept: dict[Fraction, list[int]] = {}


def geometric(epsilon: Fraction | int) -> int:
    """Return two-sided geometric noise, exactly: P(z) is proportional to exp(-epsilon |z|)."""
    exact = Fraction(epsilon)
    held = _kept.setdefault(exact, [])
    if not held:
        held.extend(two_sided_geometric(exact, _AT_ONCE).tolist())
    return held.pop()


def one_sided_geometric(epsilon: Fraction | int) -> int:
    """Return geometric noise, exactly: P(z) is proportional to exp(-epsilon z) for z >= 0."""
    while (drawn := geometric(epsilon)) < 0:
        pass
    return drawn


_kept_gaussian: dict[Fraction, list[int]] = {}


def gaussian(sigma: Fraction | int) -> int:
    """Return Gaussian noise, rounded: added to an integer, the sum is a Gaussian's, rounded."""
    exact = Fraction(sigma)
    held = _kept_gaussian.setdefault(exact, [])
    if not held:
        held.extend(rounded_gaussian(exact, _AT_ONCE).tolist())
    return held.pop()
