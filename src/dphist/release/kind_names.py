"""The names of kinds, those that earlier versions gave them, and the kinds of other packages."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dphist.errors import DphistError

KINDS = ("anonymized", "ranges", "labels", "tables", "groups", "streams", "regions")
"""The kinds of dphist, which are the folders of their mechanisms."""

OLD_NAMES = {"stream": "streams"}
"""The names of kinds by what plans called them in earlier versions."""

OLD_TAGS = {
    "anonymized histogram": "anonymized",
    "universal histogram": "ranges",
    "labelled histogram": "labels",
    "running histogram": "streams",
}
"""The names of kinds by what files of releases called them in earlier versions."""


def kind_name(written: str) -> str:
    """Return the name of a kind by what a plan of this version or an earlier one calls it.

    >>> kind_name("stream"), kind_name("ranges")
    ('streams', 'ranges')
    """
    return OLD_NAMES.get(written, written)


ENTRY_POINTS = "dphist.kinds"
"""The group of entry points whose modules register kinds when they are imported."""

_REGISTERED: dict[str, Any] = {}
_IMPORTED: set[str] = set()


def add_kind(name: str, kind: Any) -> None:
    """Add a kind of somebody else's."""
    _REGISTERED[name] = kind


def kinds_of_others() -> tuple[Any, ...]:
    """Return the kinds that are registered, those of packages with entry points included.

    Raises
    ------
    DphistError
        If a package cannot be imported.
    """
    for point in _points():
        if point.value in _IMPORTED:
            continue
        _IMPORTED.add(point.value)  # the module registers its kind, which comes here again
        try:
            point.load()
        except Exception as error:
            _IMPORTED.remove(point.value)
            package = point.dist.name if point.dist else point.module
            raise DphistError(
                f"the kind {point.name} of the package {package} cannot be imported "
                f"({type(error).__name__}); install it again"
            ) from None
    return tuple(_REGISTERED.values())


@cache
def _points() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))
