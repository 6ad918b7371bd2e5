"""Calibration: from a total guarantee to the parameters of a mechanism."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from inspect import signature
from typing import Any, Literal, TypeAlias, TypeVar, overload

from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, positive_number, probability, whole_number
from dphist.privacy.calibratable import (
    Choosing,
    Deciding,
    Guaranteeing,
    Ordering,
    Thresholding,
)
from dphist.privacy.epsilon_search import down
from dphist.privacy.largest import COARSE, FINE, Aim, check_found, find_largest, find_own_delta
from dphist.privacy.plan_search import calibrate_plan, read_aim, read_entry
from dphist.privacy.unit import PrivacyUnit

M = TypeVar("M", bound=Guaranteeing)
Proof: TypeAlias = Literal["best", "cdp"]
Plan: TypeAlias = Sequence[Callable[..., Any] | tuple[Callable[..., Any], Mapping[str, Any]]]

# Shares of delta tried for the mechanism's own: the threshold is flat near its minimum.
_SHARES = [Fraction(n, 32) for n in (1, 2, 4, 8, 12, 16, 20, 24, 28, 30, 31)]
_USUAL_SHARE = Fraction(12, 32)
# One release whose threshold and noise do not add their deltas gives nearly all or all to each.
_NEARLY_ALL = [Fraction(127, 128), Fraction(1023, 1024)]


@overload
def calibrate(
    mechanism: Callable[..., M],
    *,
    epsilon: Exact,
    delta: Exact,
    releases: int = ...,
    accounting: Proof = ...,
    **parameters: Any,
) -> M: ...
@overload
def calibrate(
    mechanism: Plan,
    *,
    epsilon: Exact,
    delta: Exact,
    accounting: Proof = ...,
    weights: Sequence[Exact] | None = ...,
    unit: PrivacyUnit | str | None = ...,
    **parameters: Any,
) -> list[Any]: ...
def calibrate(
    mechanism: Callable[..., M] | Plan,
    *,
    epsilon: Exact,
    delta: Exact,
    releases: int = 1,
    accounting: Proof = "best",
    **parameters: Any,
) -> M | list[Any]:
    """Return a mechanism that costs at most (epsilon, delta) for all releases together.

    The mechanism's epsilon is the largest, to 12 digits, for which the total claim is at most
    `epsilon`. If the mechanism has a delta parameter, `delta` is split between it and the noise to
    minimize the threshold, or in halves if there is no threshold. The mechanism keeps the
    requested total as `target`, and its releases state it.

    Parameters
    ----------
    mechanism : class or function, or a list
        Several releases that are decided together: a list of classes, which share `parameters`, or
        of pairs of a class and a dictionary of its own. A list of mechanisms comes back, one for
        each; see the notes.
        Otherwise called with ``epsilon``, ``delta`` if it has that parameter, and `parameters`. The
        result has a `guarantee`, and optionally a method `epsilon_at` and a `threshold`. One that
        has a parameter ``rho`` beside these, such as `Tables`, is given the total itself, or for
        several releases the largest rho that fits; with a delta of 0, an epsilon.
    epsilon, delta : numbers
        Total for all releases. epsilon is above 0; delta is above 0, or 0 for a pure guarantee.
    releases : int
        Number of releases of this mechanism that the total covers.
    accounting : "best" or "cdp"
        "best": use the smallest known epsilon for these releases, `epsilon_at(delta, releases)`.
        "cdp": use that of `guarantee` alone, for releases that are composed with others in zCDP.
        Converting the result of `compose` may give a larger epsilon than "best". Of a list, "best"
        holds if all releases are decided beforehand, and "cdp" also if later ones are chosen after
        earlier results.
    weights : sequence of numbers above 0, of a list
        The price of each release relative to the others', in rho, or if delta is 0 in epsilon
        (default: equal prices).
    unit : PrivacyUnit or str, of a list
        Whom all releases protect, such as "one user"; required where some mechanisms protect a
        number of records and others a user. See `FixedPlan`.
    **parameters : passed to the mechanism. A `ThresholdHistogram` with ``noise="best"`` gets the
        noise with which labels are released with 95 % from the smallest count on at this total, or
        of listed labels the noise that varies least; so it does without `noise`, if labels are
        listed and `correlated` is given. Its `compare_noises` says what the others would do.

    Raises
    ------
    ParameterError
        If a number is out of range, or the total is too small for every epsilon of the mechanism.

    Guarantee
    ---------
    - The result is a mechanism with its own guarantee. No data are read.
    - Every conversion is rounded so that the total claimed is never below the total that holds.
    - The total of a list holds if exactly these mechanisms are released, each once. `FixedPlan`
      states it, and what it would be if some were chosen on the way.

    Notes
    -----
    The mechanisms of a list have no `target` each, as none of them has the total. A part of delta
    goes to the mechanisms that need a delta, in equal parts; that and the noise of mechanisms such
    as `LeafCounts`, which take epsilon or rho, are those with the smallest thresholds and standard
    deviations (their product). ``rho=None`` among the parameters of such a mechanism asks for
    epsilon, ``epsilon=None`` for rho.

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
        raise ParameterError("accounting", "must be 'best' or 'cdp'")
    if not callable(mechanism):
        of_list = {name: parameters.pop(name, None) for name in ("weights", "unit")}
        aim = read_aim(epsilon, delta, best=accounting == "best")
        return _calibrate_list(mechanism, releases, parameters, aim, of_list)
    if "weights" in parameters:
        raise ParameterError("weights", "are for a list of mechanisms", "leave it out")
    asked: dict[str, Any] = {"releases": releases, "accounting": accounting}
    return _calibrate_one(mechanism, epsilon, delta, asked, parameters)


def _calibrate_one(
    mechanism: Callable[..., M],
    epsilon: Exact,
    delta: Exact,
    asked: dict[str, Any],
    parameters: dict[str, Any],
) -> M:
    """Return a mechanism that costs at most this for all of its releases."""
    forms = _forms(mechanism, delta, parameters)
    if len(forms) > 1:
        again: Callable[..., M] = functools.partial(
            calibrate, mechanism, epsilon=epsilon, delta=delta, **asked
        )
        return _best_form(again, forms)
    (parameters,) = forms
    aim = Aim(
        positive_number(epsilon, "epsilon"),
        probability(delta, "delta"),
        whole_number(asked["releases"], "releases", 1, 2**40),
        asked["accounting"] == "best",
    )
    if _takes_rho(mechanism):
        return _calibrate_rho(mechanism, aim, parameters)
    make = functools.partial(mechanism, **parameters)
    if not _needs_delta(mechanism, parameters):
        return aim.note(check_found(find_largest(make, aim, FINE)))
    if not aim.delta > 0:
        raise ParameterError("delta", "must be greater than 0: the mechanism needs a delta itself")

    def find_mechanism(share: Fraction, closeness: float, near: Fraction | None) -> M | None:
        own = find_own_delta(make, aim, share)
        return find_largest(functools.partial(make, delta=own), aim, closeness, near)

    shares = [*_SHARES]
    if aim.best:
        shares += [*(_NEARLY_ALL if aim.releases == 1 else []), Fraction(1)]
    share, near = _best_share(find_mechanism, shares)
    chosen: M | None = find_mechanism(share, FINE, near)
    return aim.note(check_found(chosen))


def _best_share(
    found: Callable[[Fraction, float, Fraction | None], object], shares: Sequence[Fraction]
) -> tuple[Fraction, Fraction | None]:
    """Return the share of delta with the lowest threshold, and about the epsilon it has.

    Half if there is no threshold. A threshold that is no whole number has one valley: near the
    usual share, or for one release where nearly all of delta is given twice. A walk into it stops
    where the threshold rises on both sides.
    """
    tried: dict[int, tuple[Any, Any, Any]] = {}
    near: Fraction | None = None

    def lowness(place: int) -> tuple[Any, Any, Any]:
        nonlocal near
        if place not in tried:
            tried[place] = (math.inf, math.inf, 0)
            made = found(shares[place], COARSE, near)
            if isinstance(made, Ordering):
                height, second = made.share_order
                near = made.epsilon
                tried[place] = (height, -near, second)
            elif isinstance(made, Thresholding):
                near = made.epsilon
                tried[place] = (made.threshold, -near, 0)
        return tried[place]

    usual, last = shares.index(_USUAL_SHARE), len(shares) - 1
    if isinstance(lowness(usual)[0], Fraction):
        # Where the threshold falls from the usual share on, the walk from the largest has seen it.
        place = usual
        if lowness(last)[0] < math.inf:
            place = _descend(lowness, last, len(shares))
        if not lowness(usual + 1) < lowness(usual) or lowness(usual) <= lowness(place):
            place = min(place, _descend(lowness, usual, len(shares)), key=lowness)
    else:
        place = _lowest_whole(lowness, last)
    if tried[place][0] == math.inf:
        return Fraction(1, 2), near
    return shares[place], -tried[place][1]


def _lowest_whole(lowness: Callable[[int], Any], last: int) -> int:
    """Return the place with the lowest threshold, of whole ones.

    If the first share gives no larger epsilon than the last, all shares give the same, as what is
    left to convert falls with the share. Then thresholds only fall, too.
    """
    first, end = lowness(0), lowness(last)
    if end[0] == math.inf or first[0] == math.inf or -first[1] > -end[1] * (1 + 10 * COARSE):
        return min(range(last + 1), key=lowness)
    low, high = -1, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if lowness(middle)[0] <= end[0] else (middle, high)
    return min(high, last, key=lambda place: (lowness(place)[0], lowness(place)[2], place))


def _descend(lowness: Callable[[int], Any], place: int, places: int) -> int:
    """Return a place that is lower than both neighbors."""
    for step in (-1, 1):
        start = place
        while 0 <= place + step < places and lowness(place + step) < lowness(place):
            place += step
        if place != start:
            break
    return place


def _calibrate_list(
    entries: Plan, releases: int, shared: Mapping[str, Any], aim: Aim, asked: Mapping[str, Any]
) -> list[Any]:
    """Return mechanisms that are decided together."""
    if not isinstance(entries, list | tuple):
        raise ParameterError("mechanism", "must be a class or a function, or a list of them")
    if whole_number(releases, "releases", 1, 2**40) != 1:
        raise ParameterError(
            "releases", "must be 1 for a list", "list a mechanism as often as it is released"
        )
    pairs = [read_entry(entry, number, shared) for number, entry in enumerate(entries, 1)]
    if any(len(_forms(made, aim.delta, own)) > 1 for made, own in pairs):
        fault = "must be named for a list: which is best depends on the total of one mechanism"
        raise ParameterError("noise", fault)
    return calibrate_plan(pairs, aim, asked["weights"], asked["unit"])


def _forms(
    mechanism: Callable[..., Any], delta: Exact, parameters: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the parameters to choose from."""
    asked: object = mechanism
    if isinstance(asked, Choosing):
        return asked.calibration_forms(delta, **parameters)
    return [parameters]


def _best_form(make: Callable[..., M], forms: Sequence[dict[str, Any]]) -> M:
    """Return the first mechanism in order, of those that the total suffices for."""
    found: list[Any] = []
    faults: list[ParameterError] = []
    for form in forms:
        try:
            found.append(make(**form))
        except ParameterError as error:
            faults.append(error)
    if not found:
        raise _join_faults(forms, faults)
    best: M = min(found, key=lambda made: made.calibration_order)
    return best


def _join_faults(
    forms: Sequence[dict[str, Any]], faults: Sequence[ParameterError]
) -> ParameterError:
    """Return the fault of the first form, and those of the others that are not the same."""
    first, said, more = faults[0], {str(faults[0])}, []
    for form, fault in zip(forms, faults, strict=True):
        if str(fault) in said:
            continue
        said.add(str(fault))
        own = [Argument(name, form[name]) for name in form if form[name] != forms[0].get(name)]
        more.append("with " + own[0] + ": " + fault.line)
    return ParameterError(first.parameter, first.fault, first.remedy, (*first.more, *more))


def _takes_rho(mechanism: Callable[..., Any]) -> bool:
    """Whether the mechanism takes a rho, or else a total in epsilon and delta."""
    return {"rho", "epsilon", "delta"} <= signature(mechanism).parameters.keys()


def _calibrate_rho(mechanism: Callable[..., M], aim: Aim, parameters: dict[str, Any]) -> M:
    """Return the mechanism of a total that it takes itself, or of its share of the rho of all."""
    if parameters.get("rho") is not None:
        raise ParameterError("rho", "must not be given: it is what is calibrated", "leave it out")
    parameters = {name: value for name, value in parameters.items() if name != "rho"}
    if not aim.delta > 0 and not _needs_delta(mechanism, parameters):
        return aim.note(
            check_found(find_largest(functools.partial(mechanism, **parameters), aim, FINE))
        )
    if not aim.delta > 0:
        raise ParameterError("delta", "must be greater than 0: the mechanism needs a delta itself")
    if aim.releases == 1 and aim.best:
        return mechanism(epsilon=aim.epsilon, delta=aim.delta, **parameters)

    if _needs_own_delta(mechanism, parameters):
        # One half for what may fail, the other for the conversion of rho.
        parameters["delta"] = down(aim.delta / 2 / aim.releases)

    def make(epsilon: Fraction) -> M:
        return mechanism(rho=epsilon, **parameters)

    return aim.note(check_found(find_largest(make, aim, FINE)))


def _needs_own_delta(mechanism: Callable[..., Any], parameters: dict[str, Any]) -> bool:
    """Whether a mechanism that takes a rho requires a delta beside it."""
    asked: object = mechanism
    return isinstance(asked, Deciding) and asked.needs_delta(**parameters)


def _needs_delta(mechanism: Callable[..., Any], parameters: dict[str, Any]) -> bool:
    """Whether the mechanism requires a delta."""
    asked: object = mechanism
    if isinstance(asked, Deciding):
        return asked.needs_delta(**parameters)
    return "delta" in signature(mechanism).parameters
