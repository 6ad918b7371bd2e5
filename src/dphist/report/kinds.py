"""The kinds of releases, found by the type of the released value."""

from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from dphist.errors import ParameterError, UnsupportedError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release, save_kind
from dphist.release.running_counts import RunningCounts
from dphist.report.kind import Kind

# Modules that hold a `KIND`. Each imports its mechanisms, so only those in use are imported.
_OWN = {
    AnonymizedHistogram: "dphist.report.anonymized.kind",
    RangeHistogram: "dphist.report.ranges.kind",
    LabelTable: "dphist.report.labels.kind",
    RunningCounts: "dphist.report.streams.kind",
}
_KINDS: dict[type[Any], Kind] = {}


@runtime_checkable
class _Savable(Protocol):
    """A value that files can hold."""

    def to_content(self) -> Any: ...

    @classmethod
    def from_content(cls, content: Any) -> Any: ...


def register_kind(value_type: type[Any], kind: Kind) -> None:
    """Have `plot`, reports, summaries and tables show releases of one more type of value.

    Parameters
    ----------
    value_type : type of `release.value`; subclasses of it are shown the same way. Releases of it
        can be saved if it has a method `to_content`, which returns what JSON can hold, and a class
        method `from_content` that makes the value from it; ValueError or TypeError otherwise.
    kind : how they are shown. Files name it by `kind.name`.

    Raises
    ------
    ParameterError
        If the type has a kind, `kind` is not a `Kind`, or its name is that of another.
    """
    if not isinstance(kind, Kind):
        raise ParameterError("kind", "must be a dphist.report.kind.Kind")
    if value_type in _KINDS or value_type in _OWN:
        raise ParameterError(
            "value_type", f"must have no kind yet: {value_type.__name__} already has one"
        )
    if issubclass(value_type, _Savable):
        save_kind(kind.name, value_type)
    _KINDS[value_type] = kind


def kind_of(release: Release) -> Kind:
    """Return how a release is shown."""
    for value_type in type(release.value).__mro__:
        if value_type in _OWN and value_type not in _KINDS:
            _KINDS[value_type] = import_module(_OWN[value_type]).KIND
        if value_type in _KINDS:
            return _KINDS[value_type].serving(release)
    raise UnsupportedError(
        f"no kind is registered for a value of type {type(release.value).__name__}; see "
        "dphist.report.kinds.register_kind"
    )
