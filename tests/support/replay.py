"""Replaying a transcript: what a mechanism asks of its noise, on one data set and on another.

`record` runs a mechanism and keeps every request for noise (sampler, parameter, size), what was
drawn, and the exact number that each draw was added to. `replay` runs it on other data such that
the same *noisy* numbers come out: where a draw is added to an exact number, the recorded sum is
returned in its place. The proofs of this library say what must hold then, for any two data sets:

- the same requests are made in the same order, for they are functions of noisy numbers alone;
- the same is published, for it is a function of noisy numbers alone;
- and, for neighbours, the exact numbers differ by so little that `loss` is within the guarantee.

Nothing in a mechanism needs to be changed for it, and its size does not matter. The samplers
themselves are not looked at here: tests/noise does that.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from dphist.noise import rounded_gaussian, two_sided_geometric

IntArray = npt.NDArray[np.int64]
D = TypeVar("D")

# Returns the exact numbers, in order, that the draws of a request are added to.
Told = Callable[[Any], IntArray]

SAMPLERS = {"geometric": two_sided_geometric, "gaussian": rounded_gaussian}


def sampled(sampler: str, parameter: Any, size: int, source: Any) -> IntArray:
    """Return noise of a sampler, which `record` keeps."""
    return SAMPLERS[sampler](parameter, size, source)


class DivergedError(AssertionError):
    """Two runs that published the same asked for something else."""


@dataclass(frozen=True)
class Request:
    """A call of a sampler: `parameter` is an epsilon, or a standard deviation."""

    sampler: str
    parameter: Fraction
    size: int | tuple[int, ...]

    def cost(self, change: int) -> tuple[Fraction, Fraction]:
        """Return what changing an exact number by so much costs, in epsilon and in rho."""
        if self.sampler == "geometric":
            return self.parameter * change, Fraction(0)
        return Fraction(0), Fraction(change) ** 2 / (2 * self.parameter**2)


@dataclass
class Entry:
    """A request, what was drawn, and what it was added to: `uses` counts how often each was."""

    request: Request
    drawn: IntArray
    exact: IntArray
    uses: IntArray

    @property
    def noisy(self) -> IntArray:
        """The sums, where draws were added to something."""
        return self.exact + self.drawn


@dataclass
class Transcript:
    """All requests of a run, and what it published."""

    entries: list[Entry] = field(default_factory=list)
    published: Any = None

    @property
    def requests(self) -> list[Request]:
        return [entry.request for entry in self.entries]

    def check_uses(self, spare: int = 0) -> None:
        """Check that each draw was added once; at most `spare` at the end may not have been used.

        A draw that is used twice, or that is changed before it is added, protects nothing.
        """
        uses = np.concatenate([np.zeros(0, np.int8), *(entry.uses for entry in self.entries)])
        used = np.flatnonzero(uses)
        end = int(used[-1]) + 1 if len(used) else 0
        if (uses[:end] != 1).any() or len(uses) - end > spare:
            raise DivergedError("a draw was not added to one exact number, once")


def record(
    run: Callable[[D], Any], data: D, *, seed: int = 0, told: Mapping[int, Told] | None = None
) -> Transcript:
    """Run on `data` with noise of the library's own samplers.

    Parameters
    ----------
    run : releases the data, and returns what is to be compared.
    seed : of the bits that the samplers get.
    told : for the requests (by number) whose sums are out of sight, the exact numbers of data.
    """
    return _Session(None, told or {}, seed).transcript(run, data)


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


def loss(one: Transcript, other: Transcript) -> tuple[Fraction, Fraction]:
    """Return what tells two runs apart that published the same, in epsilon and in rho, exactly."""
    epsilon = rho = Fraction(0)
    for mine, its in zip(one.entries, other.entries, strict=True):
        changes = np.abs(mine.exact - its.exact)
        for change, times in zip(*np.unique(changes[changes > 0], return_counts=True), strict=True):
            pure, concentrated = mine.request.cost(int(change))
            epsilon += pure * int(times)
            rho += concentrated * int(times)
    return epsilon, rho


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

    def __init__(self, recorded: Transcript | None, told: Mapping[int, Told], seed: int) -> None:
        self.recorded, self.told = recorded, told
        self.source = random.Random(seed).randbytes
        self.found = Transcript()
        self.data: Any = None

    def transcript(self, run: Callable[[D], Any], data: D) -> Transcript:
        self.data = data
        with _in_place_of_samplers(self):
            self.found.published = run(data)
        return self.found

    def draw(self, sampler: str, parameter: Any, size: int | tuple[int, ...]) -> IntArray:
        if not isinstance(parameter, Fraction):
            raise DivergedError("a parameter of noise has been through a float")
        number = len(self.found.entries)
        request = Request(sampler, parameter, size)
        length = int(np.prod(size))
        uses, exact = np.zeros(length, np.int8), np.zeros(length, np.int64)
        if self.recorded is None:
            drawn = sampled(sampler, parameter, length, self.source)
        else:
            if number >= len(self.recorded.entries):
                raise DivergedError("more requests are made")
            if self.recorded.requests[number] != request:
                raise DivergedError(f"request {number} is another one")
            drawn = self.recorded.entries[number].drawn
        entry = Entry(request, drawn, exact, uses)  # type: ignore[arg-type]
        self.found.entries.append(entry)
        if number in self.told:
            entry.exact[:] = self.told[number](self.data)
            entry.uses[:] = 1
            if self.recorded is not None:
                entry.drawn = self.recorded.entries[number].noisy - entry.exact
            return entry.drawn.reshape(size)
        places = np.arange(length).reshape(size)
        return Drawn.of(self, number, entry.drawn.reshape(size), places)

    def add(self, number: int, places: IntArray, exact: Any) -> IntArray:
        """Return the noisy numbers of draws that are added to exact ones."""
        entry = self.found.entries[number]
        whole = np.asarray(exact)
        if whole.dtype.kind not in "iu":
            raise DivergedError("noise is added to something else than whole numbers")
        if np.broadcast_shapes(whole.shape, places.shape) != places.shape:
            raise DivergedError("a draw is added to several numbers")
        entry.exact[places] = whole
        entry.uses[places] += 1
        held = entry if self.recorded is None else self.recorded.entries[number]
        if self.recorded is not None and (held.uses[places] == 0).any():
            raise DivergedError("a draw is added that was not added before")
        return held.exact[places] + held.drawn[places]


class Drawn(np.ndarray):
    """Draws that know where they come from, so that adding them is seen.

    Slices know it too. Whatever else is done to them gives plain numbers, and so a draw that
    `Transcript.check_uses` misses.
    """

    _session: _Session
    _number: int
    _places: IntArray | None

    @classmethod
    def of(cls, session: _Session, number: int, drawn: IntArray, places: IntArray) -> "Drawn":
        found = drawn.copy().view(cls)
        found._session, found._number, found._places = session, number, places
        return found

    def __array_finalize__(self, other: Any) -> None:
        self._places = None  # of views and copies; `of` and slices set it again

    def __getitem__(self, key: Any) -> Any:
        found = self.view(np.ndarray)[key]
        if self._places is None or not isinstance(found, np.ndarray):
            return found
        return Drawn.of(self._session, self._number, found, self._places[key])

    def tolist(self) -> Any:
        if self._places is None or self.ndim != 1:
            return self.view(np.ndarray).tolist()
        drawn = self.view(np.ndarray).tolist()
        places = self._places.tolist()
        return [
            DrawnInt.of(self._session, self._number, value, place)
            for value, place in zip(drawn, places, strict=True)
        ]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.add and method == "__call__" and self._is_the_only_one(inputs):
            other = inputs[1] if inputs[0] is self else inputs[0]
            assert self._places is not None
            noisy = self._session.add(self._number, self._places, other)
            (out,) = options.get("out", (None,))
            if out is None:
                return noisy
            out[...] = noisy
            return out
        plain = [x.view(np.ndarray) if isinstance(x, Drawn) else x for x in inputs]
        found = getattr(ufunc, method)(*plain, **options)
        if self._places is not None and found is not None and self._is_the_only_one(inputs):
            # Cutting off what is not there to be cut off changes nothing.
            same = np.shape(found) == self.shape and np.array_equal(found, plain[0])
            if ufunc is np.clip or getattr(ufunc, "__name__", "") == "clip":
                return Drawn.of(self._session, self._number, found, self._places) if same else found
        return found

    def _is_the_only_one(self, inputs: tuple[Any, ...]) -> bool:
        return self._places is not None and sum(isinstance(x, Drawn) for x in inputs) == 1


class DrawnInt(int):
    """A draw out of a list."""

    _session: _Session
    _number: int
    _place: int

    @classmethod
    def of(cls, session: _Session, number: int, value: int, place: int) -> "DrawnInt":
        found = cls(value)
        found._session, found._number, found._place = session, number, place
        return found

    def __add__(self, exact: int) -> int:
        return int(self._session.add(self._number, np.array(self._place), exact))

    __radd__ = __add__


@contextmanager
def _in_place_of_samplers(session: _Session) -> Iterator[None]:
    """Put the session in the place of the samplers, wherever a module of the library has them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, sampler in SAMPLERS.items():

            def draw(parameter: Any, size: Any, source: Any = None, name: str = name) -> Any:
                return session.draw(name, parameter, size)

            for module in [m for m in sys.modules.values() if _is_ours(m)]:
                for attribute, value in list(vars(module).items()):
                    if value is sampler:
                        patch.setattr(module, attribute, draw)
        yield


def _is_ours(module: Any) -> bool:
    return getattr(module, "__name__", "").partition(".")[0] == "dphist"
