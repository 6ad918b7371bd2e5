"""The source of randomness that follows a path through the tree."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import DphistError
from dphist.lab.auditing.exact.draws import BITS, ONE, Draw, Geometric, RoundedGaussian, Uniform
from dphist.lab.auditing.replay.transcript import DivergedError, Request
from dphist.noise.enclosures import Enclosure, ceil_shift

MOST_DRAWS = 1024  # of one path


class TooLongError(DphistError):
    """A path through the tree is too long for its laws to be enumerated."""


class NotEnumerableError(DphistError):
    """Randomness is asked for in a form whose law is not known, or has no end."""


class PathSource:
    """Randomness along a path: given ranks first, then the likeliest value of each draw.

    It is a source of bytes, `source(n)`, of single bits, `source.bits(n)`, and stands in for the
    samplers of dphist. What is asked for is drawn only when it is used.
    """

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks
        self.draws: list[Draw] = []
        self.chances: list[Enclosure] = [(ONE, ONE)]
        self.failed: DphistError | None = None
        self.over = False

    def __call__(self, number: int) -> bytes:
        """Return so many random bytes."""
        return bytes(self.one(Uniform(256)) for _ in range(number))

    def bits(self, number: int) -> int:
        """Return a random whole number of so many bits."""
        return self.one(Uniform(1 << number))

    def refused(self, number: int) -> bytes:
        """Refuse to give bytes: a mechanism of dphist that asks for them draws real numbers."""
        del number
        raise self._ended(NotEnumerableError("its noise is no whole number with a known law"))

    def one(self, draw: Draw) -> int:
        """Return the next draw of the path."""
        place = len(self.draws)
        if place >= MOST_DRAWS:
            raise self._ended(TooLongError("more randomness is asked for than can be enumerated"))
        value, (low, high) = draw.at(self.ranks[place] if place < len(self.ranks) else 0)
        before_low, before_high = self.chances[-1]
        self.draws.append(draw)
        self.chances.append((before_low * low >> BITS, ceil_shift(before_high * high, BITS)))
        return value

    def draw(self, sampler: str, parameter: Any, size: int | tuple[int, ...]) -> Any:
        """Stand in for a sampler of dphist."""
        if not isinstance(parameter, Fraction):
            raise self._ended(DivergedError("a parameter of noise has been through a float"))
        law: Draw = RoundedGaussian(parameter)
        if sampler == "geometric":
            law = Geometric(parameter)
        return DrawnLater(lambda: self.one(law), size)

    def draw_with(self, request: Request, sample: Callable[[], Any]) -> Any:
        """Refuse a caller's sampler, whose law is not known."""
        del request, sample
        raise self._ended(NotEnumerableError("the law of a wrapped sampler is not known"))

    def _ended(self, error: DphistError) -> DphistError:
        self.failed = self.failed or error
        return error


class DrawnLater:
    """Draws of one request; each is drawn when it is first used, so that spare ones are not."""

    def __init__(self, one: Callable[[], int], size: int | tuple[int, ...]) -> None:
        self._one = one
        self.shape = (size,) if isinstance(size, int) else tuple(size)
        self._drawn: list[int] = []

    def _first(self, number: int) -> list[int]:
        while len(self._drawn) < number:
            self._drawn.append(self._one())
        return self._drawn[:number]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        del copy
        whole = np.array(self._first(int(np.prod(self.shape))), np.int64).reshape(self.shape)
        return whole if dtype is None else whole.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, DrawnLater) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> Any:
        """Return the draws one after another, each when it is asked for."""
        if len(self.shape) > 1:
            return np.asarray(self).tolist()
        return (self._first(place + 1)[place] for place in range(self.shape[0]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __add__(self, other: Any) -> Any:
        return np.asarray(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return np.asarray(self) - other

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * other

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return np.asarray(self) // other
