"""The kinds of releases, found by the type of the released value.

Each is declared (`dphist.document.kind`). Releases of labels and running counts by mechanisms of
others are told by what `dphist.Mechanism` says of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from dphist import mechanism
from dphist.document import others
from dphist.document.blocks import Document
from dphist.document.csv_field import csv_field, safe_field
from dphist.document.kind import DataFacts, Kind
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release, save_kind
from dphist.release.running_counts import RunningCounts
from dphist.render.as_json import content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dphist.render.charts import Drawing

# Modules that hold a `KIND`. Each imports its mechanisms, so only those in use are imported.
_OWN = {
    AnonymizedHistogram: "dphist.anonymized.kind",
    RangeHistogram: "dphist.ranges.kind",
    LabelTable: "dphist.labels.kind",
    RunningCounts: "dphist.streams.kind",
}
_KINDS: dict[type[Any], Kind] = {}
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
        the value from it; ValueError or TypeError otherwise.

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
        mechanism.register(cast(Any, added))  # it checks what it is given
    return added


def _register_kind(kind: Kind) -> None:
    value_type = kind.value_type
    if value_type in _KINDS or value_type in _OWN:
        raise ParameterError(
            "added", f"must be of a type that has no kind: {value_type.__name__} already has one"
        )
    if issubclass(value_type, _Savable):
        save_kind(kind.name, value_type)
    _KINDS[value_type] = kind


def kind_of(release: Release) -> Kind:
    """Return the kind of a release."""
    for value_type in type(release.value).__mro__:
        if value_type in _OWN and value_type not in _KINDS:
            _KINDS[value_type] = import_module(_OWN[value_type]).KIND
        if value_type in _KINDS:
            return _KINDS[value_type]
    raise UnsupportedError(
        f"no kind is registered for a value of type {type(release.value).__name__}; see "
        "dphist.register"
    )


def shown_as(release: Release) -> Document:
    """Return the document of a release."""
    kind, data = kind_of(release), DataFacts.of(release)
    if isinstance(release.mechanism, kind.mechanism_type):
        return kind.document(release.mechanism, data, release)
    return others.document_of(kind, release.mechanism, data, release)


def told(release: Release, key: str) -> str:
    """Return one fact of a release as text.

    Parameters
    ----------
    key : "title"; "cost", as after "Released under"; "neighbors", which data are
        neighbors; or "counts_of", what the counts count.
    """
    return shown_as(release).fact(key).text


def json_of(release: Release) -> dict[str, Any]:
    """Return guarantee, size and warnings of a release for programs."""
    return content(shown_as(release))


def table_of(release: Release, *, safe: bool = False) -> str:
    """Return the released table as CSV; `safe` for a spreadsheet."""
    return kind_of(release).table(release, safe_field if safe else csv_field)


def drawings_of(release: Release) -> "Sequence[Drawing]":
    """Return the plots of a release.

    Raises
    ------
    ParameterError
        If the release has no plot.
    """
    from dphist.render.charts import drawing_of  # matplotlib takes long to import

    kind, slots = kind_of(release), shown_as(release).slots
    of_ours = isinstance(release.mechanism, kind.mechanism_type)
    charts = kind.charts(release) if of_ours else others.charts_of(release)
    return [drawing_of(chart, slots) for chart in charts]
