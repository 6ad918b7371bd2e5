"""Mechanisms of dphist as measurements of OpenDP, which a Context of OpenDP can query.

Needs the package: ``pip install 'dphist[opendp]'``.
"""

import ctypes
import math
from dataclasses import fields
from typing import Any

from dphist.data.guard import refuse_guarded
from dphist.document.kind import kinds
from dphist.errors import Argument, DphistError, ParameterError, UnsupportedError
from dphist.mechanism import Mechanism, MechanismBase
from dphist.parameters import Exact, whole_number
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.privacy.as_text import float_up
from dphist.privacy.unit import OF_ROWS, ONE_RECORD
from dphist.release.release import Release

try:
    from opendp import domains, measurements, measures, metrics
    from opendp._lib import AnyMeasurement
    from opendp.mod import Measurement, OpenDPException
except ImportError:
    raise DphistError("measurements need opendp: pip install 'dphist[opendp]'") from None

__all__ = ["measurement"]

_FEATURES = (
    "measurements need OpenDP's features: call opendp.mod.enable_features('contrib', "
    "'honest-but-curious') first, as dphist's proofs are not OpenDP's"
)


def measurement(mechanism: Mechanism, *, delta: Exact | None = None) -> Any:
    """Return an OpenDP measurement that releases data with a mechanism.

    Parameters
    ----------
    mechanism : AdaptiveTree, ThresholdHistogram or another that has `release`.
    delta : state the cost as the (epsilon, delta)-DP of `mechanism.to_approx_dp(delta)` (default:
        as the mechanism's guarantee does).

    Returns
    -------
    opendp.mod.Measurement
        Its input is a `BinnedCounts`, `LabelCounts` or `Profile`, its output a `Release`. The
        input metric counts privacy units of the mechanism's guarantee, and its name says which: 1
        is one user, or the records that one unit may have. The output measure is the divergence
        of the guarantee: pure and approximate max divergence, or (approximate) zCDP. For more
        than one unit the cost is that of group privacy. All numbers are rounded up. If nothing
        is guaranteed to so large a group, `map` raises a `ParameterError`, `check` is False, and
        a Context refuses the measurement as too expensive.

    Raises
    ------
    ParameterError
        If `delta` is too small.
    UnsupportedError
        If OpenDP's features "contrib" and "honest-but-curious" are not enabled.

    Notes
    -----
    OpenDP accounts for the release, with other releases of its own; a ledger of dphist does not
    know of it. The unit of OpenDP's context must be the one that the data were bounded for: the
    mechanism refuses data with larger bounds than its own, and a measurement of users refuses data
    that were bounded for records alone.
    """
    if not isinstance(mechanism, Mechanism):
        raise ParameterError("mechanism", "must have what dphist.Mechanism lists, such as release")
    guarantee: Guarantee = mechanism.guarantee
    if delta is not None:
        known = mechanism if isinstance(mechanism, MechanismBase) else mechanism.guarantee
        guarantee = known.to_approx_dp(delta)

    calls = _Calls(mechanism, guarantee)
    try:
        made = measurements.make_user_measurement(
            domains.user_domain("dphist data", _is_data),
            metrics.user_distance(f"dphist: number of units, each {guarantee.unit}"),
            _measure(guarantee),
            calls.answer,
            calls.cost_or_all,
        )
    except OpenDPException:
        made = None
    if made is None:
        raise UnsupportedError(_FEATURES)
    found = ctypes.cast(made, _Measurement)
    found.made, found.calls = made, calls  # `made` frees the memory that both point to
    return found


class _Calls:
    """What OpenDP calls, and the last error of ours that it has put into a text of its own."""

    def __init__(self, mechanism: Mechanism, guarantee: Guarantee) -> None:
        self.mechanism = mechanism
        self.guarantee = guarantee
        self.error: DphistError | None = None

    def answer(self, data: Any) -> Release:
        """Release data."""
        self.error = None
        try:
            return _answer(self.mechanism, data, self.guarantee.unit)
        except DphistError as error:
            self.error = error
            raise

    def cost(self, units: Any) -> Any:
        """Return what a release costs some units; ParameterError if nothing is guaranteed."""
        guarantee, members = self.guarantee, whole_number(units, "the distance between inputs", 0)
        if members == 0:
            return 0.0 if isinstance(guarantee, PureDP | ZCDP) else (0.0, 0.0)
        return _cost(guarantee if members == 1 else guarantee.for_group(members))

    def cost_or_all(self, units: Any) -> Any:
        """Return the same, and where nothing is guaranteed that, in numbers: all is lost."""
        try:
            return self.cost(units)
        except ParameterError:
            return (math.inf, 1.0)


class _Measurement(Measurement):
    """A measurement of OpenDP that raises the errors of dphist as they are."""

    _type_ = AnyMeasurement
    made: Measurement
    calls: _Calls

    def map(self, d_in: Any) -> Any:
        self.calls.cost(d_in)
        return super().map(d_in)  # type: ignore[no-untyped-call]

    def invoke(self, arg: Any) -> Any:
        try:
            return super().invoke(arg)  # type: ignore[no-untyped-call]
        except OpenDPException:
            found, self.calls.error = self.calls.error, None
            if found is None:
                raise
        raise found.with_traceback(None) from None

    __call__ = invoke

    def __del__(self) -> None:
        """Free nothing: `made` does."""


class _Answer(Release):
    """A release on which OpenDP tries to note its query, and cannot."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a release is frozen: {name} cannot be set")


def _answer(mechanism: Mechanism, data: Any, unit: PrivacyUnit) -> Release:
    refuse_guarded(data)
    if not _is_data(data):
        raise ParameterError(
            "data", "must be BinnedCounts, LabelCounts or a Profile, which have bounds"
        )
    release = mechanism.release(data)
    protected = release.guarantee.unit
    of_rows = unit.single == ONE_RECORD or unit in OF_ROWS
    if protected in OF_ROWS and not of_rows:  # OpenDP would account for users
        raise ParameterError(
            "data",
            f"must be bounded for {unit}, which the measurement's metric counts, not for "
            f"{protected}",
            "count them with the column of users as " + Argument("user"),
        )
    return _Answer(**{item.name: getattr(release, item.name) for item in fields(release)})


def _is_data(value: Any) -> bool:
    """Whether a value states the bounds it was made with, so that the mechanism checks them."""
    types = (kind.data_type for kind in kinds())
    return any(known is not None and isinstance(value, known) for known in types)


def _measure(guarantee: Guarantee) -> Any:
    """Return the measure of OpenDP in which a guarantee is stated."""
    if isinstance(guarantee, PureDP):
        return measures.max_divergence()
    if isinstance(guarantee, ZCDP):
        return measures.zero_concentrated_divergence()
    if isinstance(guarantee, ApproxDP):
        return measures.approximate(measures.max_divergence())
    return measures.approximate(measures.zero_concentrated_divergence())


def _cost(guarantee: Guarantee) -> Any:
    """Return the numbers of a guarantee, rounded up."""
    cost = float_up(
        guarantee.rho if isinstance(guarantee, ZCDP | ApproxZCDP) else guarantee.epsilon
    )
    if isinstance(guarantee, ApproxDP | ApproxZCDP):
        return cost, float_up(guarantee.delta)
    return cost
