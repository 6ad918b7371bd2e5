"""Calibration: from a total guarantee to the parameters of a mechanism."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from inspect import signature
from typing import Any, Literal, TypeAlias, TypeVar

from dphist.errors import ParameterError
from dphist.parameters import Exact, positive_number, probability, whole_number
from dphist.privacy import ApproxDP, PureDP, Target, delta_of, least_epsilon

M = TypeVar("M")
Accounting: TypeAlias = Literal["best", "cdp"]

_SMALLEST = Fraction(1, 10**9)
_COARSE, _FINE = 1e-4, 1e-13  # relative precision of the search for epsilon
# Shares of delta tried for the mechanism's own: the threshold is flat near its minimum.
_SHARES = [Fraction(n, 32) for n in (1, 2, 4, 8, 12, 16, 20, 24, 28, 30, 31)]
# One release whose threshold and noise do not add their deltas gives nearly all or all to each.
_NEARLY_ALL = [Fraction(127, 128), Fraction(1023, 1024)]
_DOWN = Context(prec=12, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))


def calibrate(
    mechanism: Callable[..., M],
    *,
    epsilon: Exact,
    delta: Exact,
    releases: int = 1,
    accounting: Accounting = "best",
    **parameters: Any,
) -> M:
    """Return a mechanism whose releases cost at most (epsilon, delta) in total.

    The mechanism's epsilon is the largest, to 12 digits, for which the total claim is at most
    `epsilon`. If the mechanism has a delta parameter, `delta` is split between it and the noise to
    minimize the threshold, or in halves if there is no threshold. The mechanism keeps the
    requested total as `target`, and its releases state it.

    Parameters
    ----------
    mechanism : class or function
        Called with ``epsilon``, ``delta`` if it has that parameter, and `parameters`. The result
        has a `guarantee`, and optionally a method `epsilon_at` and a `threshold`.
    epsilon, delta : numbers
        Total for all releases. epsilon is above 0; delta is above 0, or 0 for a pure guarantee.
    releases : int
        Number of releases of this mechanism that the total covers.
    accounting : "best" or "cdp"
        "best": use the smallest known epsilon for these releases, `epsilon_at(delta, releases)`.
        "cdp": use that of `guarantee` alone, for releases that are composed with others in zCDP.
        Converting the result of `compose` may give a larger epsilon than "best".
    **parameters : passed to the mechanism.

    Raises
    ------
    ParameterError
        If a number is out of range, or the total is too small for every epsilon of the mechanism.

    Guarantee
    ---------
    The result is a mechanism with its own guarantee. No data are read. Every conversion is rounded
    so that the total claimed is never below the total that holds.

    Examples
    --------
    >>> from dphist.labels.threshold.mechanism import ThresholdHistogram
    >>> found = calibrate(
    ...     ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=10, noise="gaussian"
    ... )
    >>> float(found.to_approx_dp("1e-6").epsilon), found.target
    (0.999999999999, (1, 1e-6)-differential privacy)
    """
    if accounting not in ("best", "cdp"):
        raise ParameterError("accounting must be 'best' or 'cdp'")
    aim = _Aim(
        positive_number(epsilon, "epsilon"),
        probability(delta, "delta"),
        whole_number(releases, "releases", 1, 2**40),
        accounting == "best",
    )
    make = functools.partial(mechanism, **parameters)
    if not _needs_delta(mechanism, parameters):
        return aim.noted(_stated(_largest(make, aim, _FINE)))
    if not aim.delta > 0:
        raise ParameterError("delta must be greater than 0: the mechanism needs a delta itself")

    def found(share: Fraction, closeness: float) -> Any:
        own = _own_delta(make, aim, share)
        return _largest(functools.partial(make, delta=own), aim, closeness)

    shares = [*_SHARES]
    if aim.best:
        shares += [*(_NEARLY_ALL if aim.releases == 1 else []), Fraction(1)]
    tried = [(share, found(share, _COARSE)) for share in shares]
    usable = [(made.threshold, -made.epsilon, share) for share, made in tried if _has(made)]
    chosen: M | None = found(min(usable)[2] if usable else Fraction(1, 2), _FINE)
    return aim.noted(_stated(chosen))


@dataclass(frozen=True, slots=True)
class _Aim:
    """The total cost allowed, and whether accounting other than zCDP may prove it."""

    epsilon: Fraction
    delta: Fraction
    releases: int
    best: bool

    def claim(self, made: Any) -> Fraction | None:
        """Return the epsilon of all releases at `delta`; None if none can be claimed."""
        if self.best and hasattr(made, "epsilon_at"):
            least: Fraction | None = made.epsilon_at(self.delta, self.releases)
            return least
        return least_epsilon([made.guarantee], self.delta, self.releases)

    def noted(self, made: M) -> M:
        """Return the mechanism with this aim as its target, if it can hold one."""
        if not hasattr(made, "calibrated_to"):
            return made
        asked = ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)
        calibrated: M = made.calibrated_to(Target(asked, self.releases))
        return calibrated


def _own_delta(make: Callable[..., Any], aim: _Aim, share: Fraction) -> Fraction:
    """Return the `delta` parameter for which all releases use this share of the total delta."""
    wanted = aim.delta * share / aim.releases
    made = make(epsilon=_down(aim.epsilon), delta=_down(wanted))
    used = max(delta_of(made.guarantee), wanted)  # a release with several queries adds it up
    return _down(wanted * wanted / used)


def _largest(make: Callable[..., M], aim: _Aim, closeness: float) -> M | None:
    """Return the mechanism with the largest epsilon whose cost is within the aim, or None."""

    def fits(candidate: Fraction) -> bool:
        claim = aim.claim(make(epsilon=candidate))
        return claim is not None and claim <= aim.epsilon

    low = _down(aim.epsilon / aim.releases)
    if aim.claim(make(epsilon=low)) is None:  # for every epsilon: no delta is left to convert
        return None
    while not _fits_if_possible(fits, low):
        if low < _SMALLEST * aim.epsilon:
            return None
        low = _down(low / 2)
    high = 2 * low
    while _fits_if_possible(fits, high):
        low, high = high, 2 * high
    while high > low * (1 + Fraction(closeness)):
        middle = Fraction((low + high) / 2).limit_denominator(10**30)
        low, high = (middle, high) if _fits_if_possible(fits, middle) else (low, middle)
    found = _down(high) if _fits_if_possible(fits, _down(high)) else _down(low)
    # Claims are rounded up, so in the last digits they need not increase with epsilon.
    while not _fits_if_possible(fits, found):
        found = _down(found * (1 - Fraction(1, 10**11)))
    return make(epsilon=found)


def _fits_if_possible(fits: Callable[[Fraction], bool], candidate: Fraction) -> bool:
    """Whether an epsilon fits; one refused by the mechanism or a guarantee does not."""
    try:
        return fits(candidate)
    except ParameterError:
        return False


def _has(made: Any | None) -> bool:
    return made is not None and hasattr(made, "threshold")


def _stated(made: M | None) -> M:
    if made is None:
        raise ParameterError(
            "epsilon and delta are too small for this mechanism; raise one of them"
        )
    return made


def _needs_delta(mechanism: Callable[..., Any], parameters: dict[str, Any]) -> bool:
    """Whether the mechanism requires a delta."""
    asked = getattr(mechanism, "needs_delta", None)
    if asked is not None:
        return bool(asked(**parameters))
    return "delta" in signature(mechanism).parameters


def _down(number: Fraction) -> Fraction:
    """Round down to 12 digits."""
    return Fraction(_DOWN.divide(Decimal(number.numerator), Decimal(number.denominator)))
