"""Kind: what a kind of release declares, once, for all that shows, writes and reads it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dphist.document.audited import Auditing
from dphist.document.blocks import Document
from dphist.document.chart import Chart
from dphist.document.compared import Comparing
from dphist.document.csv_field import Field
from dphist.document.of_value import OfValue
from dphist.document.options import Table
from dphist.document.planning import Planning
from dphist.privacy import PrivacyUnit
from dphist.release.presentation import Presentation
from dphist.release.release import Release
from dphist.sentence import Sentence, many


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """What is known of data before they are read.

    Attributes
    ----------
    unit : whom the data protect, as they name it; None if they name no unit.
    bounds : how the records of one unit were bounded, by parameter name, and how missing values
        were treated: what `Release.provenance` holds.
    presentation : the owner's words.
    guesses : public guesses of the number of records, for the error to expect.
    shape : public guess of how fast counts fall; see `expected_error` of the mechanism.
    """

    unit: PrivacyUnit | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    presentation: Presentation = field(default_factory=lambda: Presentation(date=None))
    guesses: Sequence[int] = ()
    shape: Any = 1

    @classmethod
    def of(cls, release: Release) -> "DataFacts":
        """Return what a release says of its data."""
        unit = release.provenance.get("unit")
        return cls(unit=unit, bounds=release.provenance, presentation=release.presentation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """What holds of the releases of one mechanism: no released count is among it.

    Attributes
    ----------
    threshold : from which noisy number on a label is released; empty if all are.
    noisy : what that number is.
    public : what is published without noise, beside parameters and bounds, in sentences.
    cuts : whether the mechanism itself cuts each protected unit to its bounds.
    continues : whether a release holds all earlier ones of its run, at the cost of one.
    """

    threshold: str = ""
    noisy: str = "count"
    public: Sequence[str] = ()
    cuts: bool = False
    continues: bool = False


def number_listed(labels: Sequence[object] | None) -> list[Sentence]:
    """Say how many labels a mechanism lists; nothing where they come from the data."""
    if labels is None:
        return []
    held = many(len(labels), "label")
    return [Sentence("The list of {held} for which there are counts.", held=held)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Releasing:
    """A command that releases a file as a kind.

    FILE, outputs, the dry run, ledgers, and the words and resources of a release are options of all
    such commands. The functions are given the parsed options.

    Attributes
    ----------
    summary : its line in the help of `dphist`.
    text, epilog : what it does, and what FILE holds, for its own help.
    columns : of the released table.
    options : of the mechanism and the data: see `dphist.document.options`.
    mechanism : makes the mechanism; nothing is read before.
    read : reads FILE, `options.file`, and returns the data that the mechanism is given. If a ledger
        pays, it has paid by then.
    data : returns what is known of the data before they are read.
    records : maximum number of records of one unit of the data.
    """

    summary: str
    text: str
    epilog: str
    columns: str
    options: Table
    mechanism: Callable[[Any], Any]
    read: Callable[[Any], Any]
    data: Callable[[Any], DataFacts] = lambda _options: DataFacts()
    records: Callable[[Any], int] = lambda _options: 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of release.

    Attributes
    ----------
    name : one word, such as "labels": of the folder, of pages and of the documentation.
    title : heading of its documents.
    value_type : type of the released value; subclasses of it are of the kind too.
    document : returns what is to be said of a release, also by mechanisms of others, of which no
        more is known than `dphist.Mechanism` says. Without a release it says what one would
        cost and promise: the dry run. That of a release has facts with the keys "title", "cost",
        "neighbors" and "counts_of", shown or not: a disclosure and commands name them.
    table : returns the released table as CSV with one header line; the function that it is given
        writes a text, such as a label or a name of a column, as a field.
    charts : returns the charts of a release.
    mechanism_type : what its mechanisms have in common.
    comparing : how its mechanisms are compared; None if they are not.
    data_type : type of the data that its mechanisms release, if these state bounds: `unit`, whom
        they protect or None, and `sensitivity`, the maximum number of records of one such unit.
    accept : refuses data of this type whose bounds a mechanism does not protect, with a
        `DphistError`. A ledger calls it with mechanism and data before it charges; it must depend
        on the stated bounds alone.
    columns : names the columns of the table of a value, for a disclosure.
    disclosed : returns what is disclosed of a mechanism, and of its value if there is one.
    commands : of `dphist`, by name.
    of_value : returns what a notebook shows of a value by itself, with up to a number of rows.
    planning : how its releases are planned and compared with a plan; None if they cannot be.
    auditing : how its mechanisms are audited; without it, only on neighbors that callers give.
    """

    name: str
    title: str
    value_type: type[Any]
    document: Callable[[Any, DataFacts, Release | None], Document]
    table: Callable[[Release, Field], str]
    charts: Callable[[Release], Sequence[Chart]]
    mechanism_type: type[Any]
    comparing: Comparing | None = None
    data_type: type[Any] | None = None
    accept: Callable[[Any, Any], object] | None = None
    columns: Callable[[Any], str] | None = None
    disclosed: Callable[[Any, Any], Disclosed] | None = None
    commands: Mapping[str, Releasing] = field(default_factory=dict)
    of_value: Callable[[Any, int], OfValue] | None = None
    planning: Planning | None = None
    auditing: Auditing | None = None
