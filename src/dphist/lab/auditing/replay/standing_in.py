"""Standing in for dphist's samplers, in one thread and during one run.

Releases that other threads make at the same time get the real samplers: a stand-in looks at a
context variable, which no other thread shares. Tasks that a run has begun, and left behind, get
the real samplers once the run is over. What is released meanwhile is marked as made for tests.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from dphist.lab.auditing.replay.transcript import DivergedError, Request
from dphist.noise import rounded_gaussian, two_sided_geometric
from dphist.noise.for_tests import KNOWN_NOISE

SAMPLERS: dict[str, Callable[..., Any]] = {
    "geometric": two_sided_geometric,
    "gaussian": rounded_gaussian,
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


def who_is_asked() -> Sampling | None:
    """Return who is asked for noise here; None for the samplers themselves."""
    sampling = ASKED.get()
    return None if sampling is None or sampling.over else sampling


ONE_AT_A_TIME = threading.RLock()
"""Held while names of dphist are replaced."""
_IN_PLACE: list[bool] = []


@contextmanager
def in_place_of_samplers(sampling: Sampling) -> Iterator[None]:
    """Put something in the place of dphist's samplers, for this thread alone."""
    with standing_in(), asked(sampling):
        yield


@contextmanager
def standing_in() -> Iterator[None]:
    """Let stand-ins ask `ASKED`, where it is set, in the place of dphist's samplers."""
    stand_ins = {id(sampler): _stand_in(name, sampler) for name, sampler in SAMPLERS.items()}
    with ONE_AT_A_TIME:
        if _IN_PLACE:  # by this thread: the others wait
            yield
            return
        _IN_PLACE.append(True)
        try:
            with replaced(stand_ins):
                yield
        finally:
            _IN_PLACE.clear()


@contextmanager
def asked(sampling: Sampling) -> Iterator[None]:
    """Ask `sampling` for noise, in this thread, while stand-ins are in place."""
    if who_is_asked() is not None:
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
        sampling = who_is_asked()
        if sampling is None:  # another thread's release
            return sampler(parameter, size, source)
        return sampling.draw(name, parameter, size)

    return draw


@contextmanager
def replaced(stand_ins: dict[int, Any]) -> Iterator[None]:
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
