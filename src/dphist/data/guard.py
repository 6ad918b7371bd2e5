"""What all data are: secret, and guarded where only a ledger releases them."""

from typing import Any, ClassVar, NoReturn, Protocol, TypeVar, cast

import numpy.typing as npt

from dphist.arrays import AnyArray
from dphist.errors import LedgerError, UnsupportedError
from dphist.shown import show_by

D = TypeVar("D")


class Guarded:
    """Data of a ledger; `Ledger.guard` makes them.

    Nothing can be read from them: a mechanism, or anything else, that tries is told to release
    through the ledger. This prevents mistakes. It is no protection from somebody who means to go
    around it: whoever has the data in memory can read them.
    """

    __slots__ = ("__data", "__ledger", "__place")

    def __init__(self, data: Any, ledger: str, place: str) -> None:
        self.__data, self.__ledger, self.__place = data, ledger, place

    def open_for(self, ledger: str) -> Any:
        """Return the data for the ledger with this id; LedgerError for any other."""
        if ledger != self.__ledger:
            raise LedgerError(f"the data are guarded by another ledger, {self.__place}; use that")
        return self.__data

    def refusal(self) -> LedgerError:
        """Return the error that says how these data are released."""
        return LedgerError(
            f"the data are guarded by the ledger {self.__place}: release them with "
            "ledger.release(mechanism, data, by=..., key=...)"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python asks objects for optional parts of its own
            raise AttributeError(name)
        raise self.refusal()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.refusal()

    __array__ = __iter__ = __len__ = __reduce__ = _refuse

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how the data are released."""
        return str(show_by("html_of", self))

    def __repr__(self) -> str:
        return f"Guarded(by {self.__place}; not shown)"


def refuse_guarded(data: object) -> None:
    """Refuse guarded data, where a mechanism looks at what it was given."""
    if isinstance(data, Guarded):
        raise data.refusal()


class Secret:
    """Data: a mechanism takes them, with their bounds, and nothing shows what they hold."""

    __slots__ = ()
    _IN_PLACE_OF_AN_ARRAY: ClassVar[str]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        """Refuse: an array would lose the bounds and the unit, and a release protect too little."""
        raise UnsupportedError(self._IN_PLACE_OF_AN_ARRAY)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the public bounds, no values."""
        return str(show_by("html_of", self))


class Guarding(Protocol):
    """A ledger, as far as data know it."""

    def guard(self, data: Any) -> Guarded: ...


def guard(data: D, ledger: Guarding | None) -> D:
    """Return data as the caller asked for them: guarded by a ledger, or as they are."""
    return data if ledger is None else cast(D, ledger.guard(data))  # guarded, they stand for data
