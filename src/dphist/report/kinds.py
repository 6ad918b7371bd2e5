"""The kinds of releases, found by the type of the released value.

All kinds of dphist are declared (`dphist.document.kind`), and a document says all of them. Releases
of mechanisms of others, and kinds of others, still tell each surface by itself, as
`dphist.report.kind.Kind`. `shown_as` tells the two apart.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dphist.document.blocks import Document
from dphist.document.csv_field import csv_field, safe_field
from dphist.document.kind import DataFacts
from dphist.document.kind import Kind as Declared
from dphist.document.release import slots_of_owner
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release, save_kind
from dphist.release.running_counts import RunningCounts
from dphist.render.as_json import content
from dphist.report.kind import Kind
from dphist.report.nouns import in_own_words
from dphist.report.plain.kind import PlainKind

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
_KINDS: dict[type[Any], Kind | Declared] = {}


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


def kind_of(release: Release) -> Kind | Declared:
    """Return the kind of a release."""
    for value_type in type(release.value).__mro__:
        if value_type in _OWN and value_type not in _KINDS:
            _KINDS[value_type] = import_module(_OWN[value_type]).KIND
        if value_type in _KINDS:
            kind = _KINDS[value_type]
            if not isinstance(kind, Declared):
                return kind.serving(release)
            declared = isinstance(release.mechanism, kind.mechanism_type)
            return kind if declared else PlainKind(kind)
    raise UnsupportedError(
        f"no kind is registered for a value of type {type(release.value).__name__}; see "
        "dphist.report.kinds.register_kind"
    )


def shown_as(release: Release) -> Document | Kind:
    """Return the document of a release, or the kind that shows it without one."""
    kind = kind_of(release)
    if isinstance(kind, Declared):
        return kind.document(release.mechanism, DataFacts.of(release), release)
    return kind


def told(release: Release, key: str) -> str:
    """Return one fact of a release as text.

    Parameters
    ----------
    key : "title"; "cost", as after "Released under"; "neighbors", which data are
        neighbors; or "counts_of", what the counts count.
    """
    shown = shown_as(release)
    if isinstance(shown, Document):
        return shown.fact(key).text
    if key in ("title", "cost"):
        return shown.title_of(release) if key == "title" else shown.cost(release)
    return shown.promise(release).neighbors if key == "neighbors" else shown.counted(release).whole


def json_of(release: Release) -> dict[str, Any]:
    """Return guarantee, size and warnings of a release for programs."""
    shown = shown_as(release)
    if isinstance(shown, Document):
        return content(shown)
    return shown.as_json(in_own_words(release))


def table_of(release: Release, *, safe: bool = False) -> str:
    """Return the released table as CSV; `safe` for a spreadsheet."""
    kind = kind_of(release)
    if isinstance(kind, Declared):
        return kind.table(release, safe_field if safe else csv_field)
    return kind.safe_table(release) if safe else kind.table(release)


def drawings_of(release: Release) -> "Sequence[Drawing]":
    """Return the plots of a release.

    Raises
    ------
    ParameterError
        If the release has no plot, or its kind does not say.
    """
    kind = kind_of(release)
    if isinstance(kind, Kind):
        return kind.charts(in_own_words(release))
    from dphist.render.charts import drawing_of  # matplotlib takes long to import

    slots = slots_of_owner(release.presentation, release.provenance.get("unit"))
    return [drawing_of(chart, slots) for chart in kind.charts(release)]
