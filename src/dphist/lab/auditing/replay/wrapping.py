"""Samplers of somebody else's, wrapped in one line so that replays see them."""

import functools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dphist.errors import ParameterError
from dphist.lab.auditing.replay.standing_in import who_is_asked
from dphist.lab.auditing.replay.transcript import Request

Rate = Callable[..., float | Decimal | Fraction]


def replayable(
    sampler: Callable[..., Any], *, epsilon: Rate | None = None, sigma: Rate | None = None
) -> Callable[..., Any]:
    """Return a sampler that `dphist.audit` can record and replay; outside of audits it is the same.

    The draws must be added to exact numbers as they are, each once: ``counts + noise(...)``. What
    is done to them first, such as scaling or rounding, belongs into the sampler.

    Parameters
    ----------
    sampler : callable that returns a number, or an array of numbers.
    epsilon : callable that takes the sampler's arguments and returns what a step of 1 costs, in
        epsilon, when such noise is added: ``lambda scale: 1 / scale`` for Laplace noise.
    sigma : the same for normal noise: its standard deviation. One of the two is given.

    Returns
    -------
    A callable with the sampler's arguments.

    Raises
    ------
    ParameterError
        If both of `epsilon` and `sigma` are given, or neither.

    >>> import random
    >>> def laplace(scale):
    ...     return random.choice([-1, 1]) * random.expovariate(1 / scale)
    >>> laplace = replayable(laplace, epsilon=lambda scale: 1 / scale)
    >>> type(laplace(2))
    <class 'float'>
    """
    rate = sigma if epsilon is None else epsilon
    if rate is None or (epsilon is not None and sigma is not None):
        raise ParameterError(
            ("epsilon", "sigma"), "of replayable must be given, exactly one of them: a callable"
        )
    kind = "geometric" if sigma is None else "gaussian"
    name = getattr(sampler, "__qualname__", type(sampler).__name__)

    @functools.wraps(sampler, updated=())
    def drawn(*arguments: Any, **named: Any) -> Any:
        asked = who_is_asked()
        if asked is None:
            return sampler(*arguments, **named)
        parameter = Fraction(rate(*arguments, **named))
        if not parameter > 0:
            raise ParameterError(("epsilon", "sigma"), "of replayable must return numbers above 0")
        request = Request(kind, parameter, (), f"{name}{arguments!r}{sorted(named.items())!r}")
        return asked.draw_with(request, lambda: sampler(*arguments, **named))

    return drawn
