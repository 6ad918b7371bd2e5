"""Draws that know which request they come from, so that adding them to something is seen."""

from typing import Any, Protocol

import numpy as np

from dphist.arrays import IntArray
from dphist.lab.auditing.replay.transcript import NumberArray


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
