"""Recording a run, and replaying it on other data, with stand-ins for dphist's samplers.

Releases that other threads make at the same time get the real samplers: a stand-in looks at a
context variable, which no other thread shares. Tasks that a run has begun, and left behind, get
the real samplers once the run is over. What is released meanwhile is marked as made for tests.
"""

import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np

from dphist.arrays import IntArray
from dphist.document.audited import Told
from dphist.errors import ParameterError
from dphist.lab.auditing.replay.transcript import (
    DivergedError,
    Drawn,
    Entry,
    NumberArray,
    Request,
    Transcript,
    loss,
    one_drawn,
)
from dphist.noise import rounded_gaussian, two_sided_geometric
from dphist.noise.finite import FiniteLaw, finite_noise
from dphist.noise.for_tests import KNOWN_NOISE

SAMPLERS: dict[str, Callable[..., Any]] = {
    "geometric": two_sided_geometric,
    "gaussian": rounded_gaussian,
    "finite": finite_noise,
}


class Sampling(Protocol):
    """What is asked in the place of samplers, until it is over."""

    over: bool

    def draw(self, sampler: str, parameter: Any, size: int | tuple[int, ...]) -> Any:
        """Return draws of a sampler of dphist."""

    def draw_with(self, request: Request, sample: Callable[[], Any]) -> Any:
        """Return draws of a caller's own sampler."""


ASKED: ContextVar[Sampling | None] = ContextVar("asked", default=None)
"""Who is asked for noise in this context in place of the samplers; None outside of replays."""


def get_sampling() -> Sampling | None:
    """Return who is asked for noise here; None for the samplers themselves."""
    sampling = ASKED.get()
    return None if sampling is None or sampling.over else sampling


ONE_AT_A_TIME = threading.RLock()
"""Held while names of dphist are replaced."""
_IN_PLACE: list[bool] = []


@contextmanager
def ask_in_place(sampling: Sampling) -> Iterator[None]:
    """Put something in the place of dphist's samplers, for this thread alone."""
    with replace_samplers(), ask_for_noise(sampling):
        yield


@contextmanager
def replace_samplers() -> Iterator[None]:
    """Let stand-ins ask `ASKED`, where it is set, in the place of dphist's samplers."""
    stand_ins = {id(sampler): _stand_in(name, sampler) for name, sampler in SAMPLERS.items()}
    with ONE_AT_A_TIME:
        if _IN_PLACE:  # by this thread: the others wait
            yield
            return
        _IN_PLACE.append(True)
        try:
            with replace_objects(stand_ins):
                yield
        finally:
            _IN_PLACE.clear()


@contextmanager
def ask_for_noise(sampling: Sampling) -> Iterator[None]:
    """Ask `sampling` for noise, in this thread, while stand-ins are in place."""
    if get_sampling() is not None:
        raise DivergedError("a replay cannot run inside of another")
    earlier = KNOWN_NOISE.get()
    try:  # around both, as an interrupt may come between them
        KNOWN_NOISE.set(True)
        ASKED.set(sampling)
        yield
    finally:
        try:
            _end(sampling, earlier)
        finally:  # an interrupt may have come in the middle of it
            _end(sampling, earlier)


def _end(sampling: Sampling, known_before: bool) -> None:
    sampling.over = True
    ASKED.set(None)
    KNOWN_NOISE.set(known_before)


def _stand_in(name: str, sampler: Callable[..., Any]) -> Callable[..., Any]:
    def draw(parameter: Any, size: Any, source: Any = None) -> Any:
        sampling = get_sampling()
        if sampling is None:  # another thread's release
            return sampler(parameter, size, source)
        return sampling.draw(name, parameter, size)

    return draw


@contextmanager
def replace_objects(stand_ins: dict[int, Any]) -> Iterator[None]:
    """Replace objects, by their `id`, wherever a module of dphist holds them under some name."""
    held: list[tuple[Any, str, Any]] = []
    try:
        for module in [m for m in list(sys.modules.values()) if _is_ours(m)]:
            for attribute, value in list(vars(module).items()):
                if id(value) in stand_ins:
                    held.append((module, attribute, value))
                    setattr(module, attribute, stand_ins[id(value)])
        yield
    finally:
        try:
            _put_back(held)
        finally:  # an interrupt may have come in the middle of it
            _put_back(held)


def _put_back(held: list[tuple[Any, str, Any]]) -> None:
    for module, attribute, value in held:
        setattr(module, attribute, value)


def _is_ours(module: Any) -> bool:
    name = f"{getattr(module, '__name__', '')}."
    return name.startswith("dphist.") and not name.startswith("dphist.lab.auditing.")


D = TypeVar("D")


def sample_noise(sampler: str, parameter: Any, size: int, source: Any) -> IntArray:
    """Return noise of a sampler, which `record` keeps."""
    drawn: IntArray = SAMPLERS[sampler](parameter, size, source)
    return drawn


def record(
    run: Callable[[D], Any],
    data: D,
    *,
    seed: int = 0,
    told: Mapping[int, Told] | None = None,
    chosen: Sequence[NumberArray] = (),
) -> Transcript:
    """Run on `data` with noise of the library's own samplers.

    Parameters
    ----------
    run : releases the data, and returns what is to be compared.
    seed : of the bits that the samplers get; the data of an audit are public.
    told : for the requests (by number) whose sums are out of sight, the exact numbers of data.
    chosen : draws of the first requests, in place of those of the samplers; left out from the
        first request on that has another size.

    Raises
    ------
    DivergedError
        If a draw is used in a way that cannot be followed.
    """
    return _Session(None, told or {}, seed, chosen).transcript(run, data)


def replay(
    transcript: Transcript,
    run: Callable[[D], Any],
    data: D,
    *,
    told: Mapping[int, Told] | None = None,
) -> Transcript:
    """Run on `data` such that the noisy numbers are those of the transcript.

    Raises
    ------
    DivergedError
        If other requests are made, or something else is published.
    """
    found = _Session(transcript, told or {}, 0).transcript(run, data)
    if len(found.entries) != len(transcript.entries):
        raise DivergedError("fewer requests were made")
    if found.published != transcript.published:
        raise DivergedError("the noisy numbers are the same, and what is published is not")
    return found


def loss_of_neighbours(
    run: Callable[[D], Any],
    one: D,
    other: D,
    *,
    seed: int = 0,
    spare: int = 0,
    told: Mapping[int, Told] | None = None,
) -> tuple[Fraction, Fraction]:
    """Record on one data set, replay on itself and on the other; return the loss of the two."""
    transcript = record(run, one, seed=seed, told=told)
    transcript.check_uses(spare)
    replay(transcript, run, one, told=told)  # there is no other randomness, or this differs
    its = replay(transcript, run, other, told=told)
    its.check_uses(spare)
    return loss(transcript, its)


class _Session:
    """Stands in for the samplers during one run."""

    def __init__(
        self,
        recorded: Transcript | None,
        told: Mapping[int, Told],
        seed: int,
        chosen: Sequence[NumberArray] = (),
    ) -> None:
        self.recorded, self.told, self.chosen = recorded, told, list(chosen)
        self.source = random.Random(seed).randbytes  # noqa: S311 - public data
        self.found = Transcript()
        self.data: Any = None
        self.diverged: DivergedError | None = None
        self.over = False

    def transcript(self, run: Callable[[D], Any], data: D) -> Transcript:
        self.data = data
        with ask_in_place(self):
            self.found.published = run(data)
        if self.diverged is not None:  # also where the run has caught it
            raise self.diverged
        return self.found

    def draw(self, sampler: str, parameter: Any, size: int | tuple[int, ...]) -> Any:
        """Return draws of a sampler of dphist."""
        if isinstance(parameter, FiniteLaw):
            raise self._different("noise that ends cannot be replayed")
        if not isinstance(parameter, Fraction):
            raise self._different("a parameter of noise has been through a float")
        request = Request(sampler, parameter, size)
        drawn: NumberArray
        if self.recorded is None:
            drawn = self._choose_drawn(
                sample_noise(sampler, parameter, int(np.prod(size)), self.source)
            )
        else:
            drawn = self._get_earlier_draw(self.recorded, request)
        return self._give(request, drawn, size)

    def _choose_drawn(self, drawn: NumberArray) -> NumberArray:
        number = len(self.found.entries)
        if number < len(self.chosen) and self.chosen[number].shape == drawn.shape:
            return self.chosen[number]
        self.chosen.clear()
        return drawn

    def draw_with(self, request: Request, sample: Callable[[], Any]) -> Any:
        """Return draws of a caller's sampler: numbers, or one number."""
        if self.recorded is None:
            drawn = np.asarray(sample())
            if drawn.dtype.kind not in "iuf":
                raise self._different("a sampler returns something else than numbers")
            request = Request(request.sampler, request.parameter, drawn.shape, request.asked)
        else:
            drawn = self._get_earlier_draw(self.recorded, request)
            request = self.recorded.entries[len(self.found.entries)].request
        if request.size != ():
            return self._give(request, drawn.reshape(-1), request.size)
        number = len(self.found.entries)
        found = self._give(request, drawn.reshape(-1), 1)
        return one_drawn(self, number, found.view(np.ndarray)[0].item(), 0)

    def _get_earlier_draw(self, recorded: Transcript, request: Request) -> NumberArray:
        number = len(self.found.entries)
        if number >= len(recorded.entries):
            raise self._different("more requests are made")
        known = recorded.entries[number].request
        same = (known.sampler, known.parameter, known.asked) == (
            request.sampler, request.parameter, request.asked,
        )  # fmt: skip
        if not same or (not request.asked and known.size != request.size):
            raise self._different(f"request {number + 1} for noise is another one")
        return recorded.entries[number].drawn

    def _give(
        self, request: Request, drawn: NumberArray, shape: int | tuple[int, ...]
    ) -> NumberArray:
        number, length = len(self.found.entries), int(np.prod(shape))
        exact = np.zeros(length, drawn.dtype if drawn.dtype.kind == "f" else np.int64)
        entry = Entry(request, drawn, exact, np.zeros(length, np.int8))
        self.found.entries.append(entry)
        if number in self.told:
            entry.exact[:] = self.told[number](self.data)
            entry.uses[:] = 1
            if self.recorded is not None:
                entry.drawn = self.recorded.entries[number].noisy - entry.exact
            return entry.drawn.reshape(shape)
        places = np.arange(length).reshape(shape)
        return Drawn.of(self, number, entry.drawn.reshape(shape), places)

    def add(self, number: int, places: IntArray, exact: Any) -> NumberArray:
        """Return the noisy numbers of draws that are added to exact ones."""
        entry = self.found.entries[number]
        numbers = np.asarray(exact)
        if self.over:  # a draw that was kept from this run to a later one
            return np.asarray(numbers + entry.drawn[places])
        if numbers.dtype.kind not in ("iuf" if entry.exact.dtype.kind == "f" else "iu"):
            raise self._different("noise is added to something else than whole numbers")
        if np.broadcast_shapes(numbers.shape, places.shape) != places.shape:
            raise self._different("a draw is added to several numbers")
        entry.exact[places] = numbers
        entry.uses[places] += 1
        held = entry if self.recorded is None else self.recorded.entries[number]
        if self.recorded is not None and (held.uses[places] == 0).any():
            raise self._different("a draw is added that was not added before")
        return np.asarray(held.exact[places] + held.drawn[places])

    def _different(self, text: str) -> DivergedError:
        error = DivergedError(text)
        self.diverged = self.diverged or error
        return error


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
    def draw_asked(*arguments: Any, **named: Any) -> Any:
        asked = get_sampling()
        if asked is None:
            return sampler(*arguments, **named)
        parameter = Fraction(rate(*arguments, **named))
        if not parameter > 0:
            raise ParameterError(("epsilon", "sigma"), "of replayable must return numbers above 0")
        request = Request(kind, parameter, (), f"{name}{arguments!r}{sorted(named.items())!r}")
        return asked.draw_with(request, lambda: sampler(*arguments, **named))

    return draw_asked
