"""Transcripts: what a run asked of its noise, what that was added to, and what two runs cost."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dphist.arrays import IntArray
from dphist.errors import DphistError

NumberArray = npt.NDArray[Any]
"""Whole numbers, or floats for samplers of floats."""


class DivergedError(DphistError):
    """Two runs that published the same asked for something else, or hid how they use noise."""


@dataclass(frozen=True)
class Request:
    """A call of a sampler.

    Attributes
    ----------
    sampler : "geometric" for noise that costs epsilon, "gaussian" for noise that costs rho.
    parameter : the epsilon of a unit step, or a standard deviation.
    size : number of draws, or their shape.
    asked : what a caller's own sampler was called with, as text.
    """

    sampler: str
    parameter: Fraction
    size: int | tuple[int, ...]
    asked: str = ""

    def cost(self, change: int | Fraction) -> tuple[Fraction, Fraction]:
        """Return what changing an exact number by so much costs, in epsilon and in rho."""
        if self.sampler == "geometric":
            return self.parameter * change, Fraction(0)
        return Fraction(0), Fraction(change) ** 2 / (2 * self.parameter**2)

    def log_ratio(self, here: int, there: int) -> Fraction:
        """Return a number that the log of Pr[a draw is `here`] / Pr[it is `there`] is not below.

        Exact for geometric noise (`docs/understand/proofs/audits.md`, Lemma 1).
        """
        if self.sampler == "geometric":
            return self.parameter * (abs(there) - abs(here))
        step, inner = abs(there - here), here if there > here else -here
        return ((2 * inner - 1) * step + step**2) / (2 * self.parameter**2)


@dataclass
class Entry:
    """A request, what was drawn, and what it was added to: `uses` counts how often each was."""

    request: Request
    drawn: NumberArray
    exact: NumberArray
    uses: npt.NDArray[np.int8]

    @property
    def noisy(self) -> NumberArray:
        """The sums, where draws were added to something."""
        return self.exact + self.drawn


@dataclass
class Transcript:
    """All requests of a run, and what it published."""

    entries: list[Entry] = field(default_factory=list)
    published: Any = None

    @property
    def requests(self) -> list[Request]:
        """What was asked for, in order."""
        return [entry.request for entry in self.entries]

    def noisy_numbers(self) -> tuple[int, ...]:
        """Return all sums of draws and exact numbers, in the order of drawing."""
        return tuple(
            number for entry in self.entries for number in entry.noisy[entry.uses > 0].tolist()
        )

    def check_uses(self, spare: int = 0) -> None:
        """Check that each draw was added once; at most `spare` at the end may not have been used.

        A draw that is used twice, or that is changed before it is added, protects nothing.
        """
        uses = np.concatenate([np.zeros(0, np.int8), *(entry.uses for entry in self.entries)])
        used = np.flatnonzero(uses)
        end = int(used[-1]) + 1 if len(used) else 0
        if (uses[:end] != 1).any() or len(uses) - end > spare:
            raise DivergedError("a draw was not added to one exact number, once")


def loss(one: Transcript, other: Transcript) -> tuple[Fraction, Fraction]:
    """Return what tells two runs apart that published the same, in epsilon and in rho, exactly."""
    epsilon = rho = Fraction(0)
    for mine, its in zip(one.entries, other.entries, strict=True):
        changes = np.abs(mine.exact - its.exact)
        for change, times in zip(*np.unique(changes[changes > 0], return_counts=True), strict=True):
            pure, concentrated = mine.request.cost(Fraction(change.item()))
            epsilon += pure * int(times)
            rho += concentrated * int(times)
    return epsilon, rho


def log_ratio(one: Transcript, other: Transcript) -> Fraction:
    """Return what the log of how much likelier these noisy numbers are on the first is not below.

    Exact where all noise is geometric.
    """
    total = Fraction(0)
    for mine, its in zip(one.entries, other.entries, strict=True):
        moved = mine.exact - its.exact
        places = np.flatnonzero(moved)
        for drawn, move in zip(mine.drawn[places].tolist(), moved[places].tolist(), strict=True):
            total += mine.request.log_ratio(drawn, drawn + move)
    return total


class Adding(Protocol):
    """What is told of draws that are added to exact numbers."""

    def add(self, number: int, places: IntArray, exact: Any) -> NumberArray:
        """Return the noisy numbers of draws, by request and place, that are added to exact ones."""


class Drawn(np.ndarray):
    """Draws that know where they come from, so that adding them is seen.

    Slices know it too. Whatever else is done to them gives plain numbers, and so a draw that
    `Transcript.check_uses` misses.
    """

    _session: Adding
    _number: int
    _places: IntArray | None

    @classmethod
    def of(cls, session: Adding, number: int, drawn: NumberArray, places: IntArray) -> "Drawn":
        """Return draws of a request, at places in it."""
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
        """Return draws one by one, each of which knows its place."""
        drawn = self.view(np.ndarray).tolist()
        if self._places is None or self.ndim != 1:
            return drawn
        return [
            one_drawn(self._session, self._number, value, place)
            for value, place in zip(drawn, self._places.tolist(), strict=True)
        ]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.add and method == "__call__" and self._is_the_only_one(inputs):
            other = inputs[1] if inputs[0] is self else inputs[0]
            noisy = self._session.add(self._number, self._held, other)
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

    @property
    def _held(self) -> IntArray:
        return np.zeros(0, np.int64) if self._places is None else self._places

    def _is_the_only_one(self, inputs: tuple[Any, ...]) -> bool:
        return self._places is not None and sum(isinstance(x, Drawn) for x in inputs) == 1


class _One:
    """A single draw: adding it is seen, anything else gives a plain number."""

    __array_ufunc__ = None  # numpy's numbers then leave the addition to this class
    session: Adding
    number: int
    place: int

    def __add__(self, exact: Any) -> Any:
        return self.session.add(self.number, np.array(self.place), exact).item()

    __radd__ = __add__


class DrawnInt(_One, int):
    """A whole number that was drawn."""


class DrawnFloat(_One, float):
    """A float that was drawn."""


def one_drawn(session: Adding, number: int, value: float, place: int) -> DrawnInt | DrawnFloat:
    """Return a single draw of a request, at a place in it."""
    found = DrawnInt(value) if isinstance(value, int) else DrawnFloat(value)
    found.session, found.number, found.place = session, number, place
    return found
