"""Recording a run, and replaying it on other data."""

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dphist.arrays import IntArray
from dphist.document.audited import Told
from dphist.lab.auditing.replay.drawn import Drawn, one_drawn
from dphist.lab.auditing.replay.standing_in import SAMPLERS, in_place_of_samplers
from dphist.lab.auditing.replay.transcript import (
    DivergedError,
    Entry,
    NumberArray,
    Request,
    Transcript,
    loss,
)

D = TypeVar("D")


def sampled(sampler: str, parameter: Any, size: int, source: Any) -> IntArray:
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
        with in_place_of_samplers(self):
            self.found.published = run(data)
        if self.diverged is not None:  # also where the run has caught it
            raise self.diverged
        return self.found

    def draw(self, sampler: str, parameter: Any, size: int | tuple[int, ...]) -> Any:
        """Return draws of a sampler of dphist."""
        if not isinstance(parameter, Fraction):
            raise self._different("a parameter of noise has been through a float")
        request = Request(sampler, parameter, size)
        drawn: NumberArray
        if self.recorded is None:
            drawn = self._chosen(sampled(sampler, parameter, int(np.prod(size)), self.source))
        else:
            drawn = self._drawn_before(self.recorded, request)
        return self._given(request, drawn, size)

    def _chosen(self, drawn: NumberArray) -> NumberArray:
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
            drawn = self._drawn_before(self.recorded, request)
            request = self.recorded.entries[len(self.found.entries)].request
        if request.size != ():
            return self._given(request, drawn.reshape(-1), request.size)
        number = len(self.found.entries)
        found = self._given(request, drawn.reshape(-1), 1)
        return one_drawn(self, number, found.view(np.ndarray)[0].item(), 0)

    def _drawn_before(self, recorded: Transcript, request: Request) -> NumberArray:
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

    def _given(
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
