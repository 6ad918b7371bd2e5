"""The kinds of releases that there are: those of dphist, and what others register.

Kinds of dphist are imported when they are asked for: they know this module, it knows their names.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from dphist import mechanism as mechanisms
from dphist.document.kind import Kind
from dphist.errors import Argument, ParameterError, UnsupportedError
from dphist.release.kind_names import KINDS, OLD_NAMES, add_kind, kinds_of_others
from dphist.release.release import Release, save_kind

Added = TypeVar("Added")


@runtime_checkable
class _Savable(Protocol):
    """A value that files can hold."""

    def to_content(self) -> Any: ...

    @classmethod
    def from_content(cls, content: Any) -> Any: ...


def register(added: Added) -> Added:
    """Have dphist save, load, plot and report releases of a mechanism or a kind of your own.

    A class decorator for mechanisms. Releases name the package of the class, so that whoever loads
    one is told what to install. If that package has an entry point of the group
    ``dphist.mechanisms`` with the name of the class, `Release.load` imports it by itself; otherwise
    import it first.

    Parameters
    ----------
    added : class, or `dphist.document.kind.Kind`
        A frozen dataclass that satisfies `Mechanism`. Its constructor takes its fields by name,
        exact numbers also as text such as ``"1/3"``, and sequences as lists: that is how they are
        saved.
        Or a kind, for releases of one more type of value; subclasses of the type are of the kind
        too. Files name it by `name`. Its releases can be saved if the type has a method
        `to_content`, which returns what JSON can hold, and a class method `from_content` that makes
        the value from it; ValueError or TypeError otherwise. A package that registers its kind when
        it is imported names its module as an entry point of the group ``dphist.kinds``: then
        loading, and `dphist` on the command line, know the kind by themselves.

    Returns
    -------
    What was added.

    Raises
    ------
    ParameterError
        If a class is not a frozen dataclass, or lacks something of `Mechanism`; if the type of a
        kind has one, or its name is that of another.
    """
    if isinstance(added, Kind):
        _register_kind(added)
    else:
        mechanisms.register(cast(Any, added))  # it checks what it is given
    return added


def _register_kind(kind: Kind) -> None:
    value_type = kind.value_type
    if any(value_type is each.value_type for each in kinds()):
        raise ParameterError(
            "added", f"must be of a type that has no kind: {value_type.__name__} already has one"
        )
    if not re.fullmatch("[a-z][a-z_]*", kind.name):
        raise ParameterError("name", "must be one word of small letters")
    if kind.name in {*OLD_NAMES, *(each.name for each in kinds())}:
        raise ParameterError("name", f"must be new: there is a kind {kind.name} already")
    if not _is_class(kind.mechanism_type) or issubclass(
        mechanisms.MechanismBase, kind.mechanism_type
    ):
        raise ParameterError("mechanism_type", "must be a class of this kind's mechanisms alone")
    if kind.data_type is not None:
        _check_data(kind, kind.data_type)
    if issubclass(value_type, _Savable):
        save_kind(kind.name, value_type)
    add_kind(kind.name, kind)


def _check_data(kind: Kind, data_type: type[Any]) -> None:
    """Refuse a type of data that nobody checks, or that is one of another kind too."""
    if not _is_class(data_type):
        raise ParameterError("data_type", "must be a class of this kind's data alone")
    for held in (each.data_type for each in kinds()):
        if held is not None and (issubclass(held, data_type) or issubclass(data_type, held)):
            raise ParameterError("data_type", f"must not be one with {held.__name__}")
    if kind.accept is None:
        raise ParameterError("accept", "must be given with a " + Argument("data_type"))


def _is_class(given: object) -> bool:
    """Whether something is a class, and no protocol, which classes of others satisfy too."""
    return (
        isinstance(given, type)
        and given is not object
        and not getattr(given, "_is_protocol", False)
    )


def kinds() -> Iterator[Kind]:
    """Yield the kinds of dphist, each imported when it is its turn, then what is registered."""
    for name in KINDS:
        yield import_module(f"dphist.{name}.kind").KIND
    yield from kinds_of_others()


def kind_of_value(value: object) -> Kind | None:
    """Return the kind of a released value; None if it has none."""
    for value_type in type(value).__mro__:
        for kind in kinds():
            if kind.value_type is value_type:
                return kind
    return None


def kind_of_mechanism(mechanism: object) -> Kind | None:
    """Return the kind that has a mechanism; None if it is of none."""
    return next((kind for kind in kinds() if isinstance(mechanism, kind.mechanism_type)), None)


def kind_of(release: Release) -> Kind:
    """Return the kind of a release.

    Raises
    ------
    UnsupportedError
        If nobody registered one.
    """
    kind = kind_of_value(release.value)
    if kind is None:
        raise UnsupportedError(
            f"no kind is registered for a value of type {type(release.value).__name__}; see "
            "dphist.register"
        )
    return kind
