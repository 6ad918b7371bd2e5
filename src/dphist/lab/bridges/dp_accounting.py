"""An accountant of Google's `dp_accounting` that takes the events of all mechanisms of dphist.

Needs the package: ``pip install 'dphist[accounting]'``.
"""

from typing import Any

from dphist.errors import DphistError

try:
    from dp_accounting import dp_event, pld
    from dp_accounting.pld import common
except ImportError:
    raise DphistError("accountants need dp_accounting: pip install 'dphist[accounting]'") from None

__all__ = ["PLDAccountant"]


class PLDAccountant(pld.PLDAccountant):  # type: ignore[misc]
    """`dp_accounting.pld.PLDAccountant`, which also takes events that fail with a probability.

    The events of mechanisms with a threshold have a part ``PoissonSampledDpEvent(delta,
    NonPrivateDpEvent())``: with probability delta, everything is revealed. That is (0, delta)-DP.
    Its privacy loss is infinite with probability delta and 0 otherwise, exactly.

    >>> from dphist import ThresholdHistogram
    >>> accountant = PLDAccountant()
    >>> event = ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=10).dp_event()
    >>> print(f"{accountant.compose(event).get_epsilon(1e-5):.3f}")
    0.994
    """

    _pld: Any

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        fails = isinstance(event, dp_event.PoissonSampledDpEvent) and isinstance(
            event.event, dp_event.NonPrivateDpEvent
        )
        if not fails:
            return super()._maybe_compose(event, count, do_compose)
        if do_compose:
            failing = pld.privacy_loss_distribution.from_privacy_parameters(
                common.DifferentialPrivacyParameters(0, event.sampling_probability),
                value_discretization_interval=self._value_discretization_interval,
            )
            self._pld = self._pld.compose(failing.self_compose(count))
        return None
