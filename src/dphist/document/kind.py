"""Kind: what a kind of release declares, once, for all that shows, writes and reads it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import pyarrow as pa

from dphist import mechanism as mechanisms
from dphist.document.audited import Auditing
from dphist.document.blocks import Document, Section
from dphist.document.chart import Chart
from dphist.document.compared import Comparing
from dphist.document.differing import Differing
from dphist.document.options import Option, Table
from dphist.document.planning import Planning
from dphist.errors import Argument, ParameterError, UnsupportedError
from dphist.privacy import PrivacyUnit
from dphist.release.kind_names import KINDS, OLD_NAMES, add_kind, kinds_of_others
from dphist.release.maker import Maker
from dphist.release.presentation import Presentation
from dphist.release.release import Release, save_kind
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
    users : the mechanism that releases how many users have how many records, beside the release;
        None without one.
    below : smaller estimates are not shown, as a rule for small counts asks; None to show all.
        Given to kinds that declare `may_hide_small`.
    """

    unit: PrivacyUnit | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    presentation: Presentation = field(default_factory=lambda: Presentation(date=None))
    guesses: Sequence[int] = ()
    shape: Any = 1
    users: Maker | None = None
    below: int | None = None

    @property
    def counts_users(self) -> bool:
        """Whether users are counted, each once, and not records."""
        return self.bounds.get("counted") == "users"

    @classmethod
    def of(cls, release: Release) -> "DataFacts":
        """Return what a release says of its data."""
        unit = release.provenance.get("unit")
        users = None if release.users is None else release.users.mechanism
        said, words = release.provenance, release.presentation
        return cls(unit=unit, bounds=said, presentation=words, users=users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """What holds of the releases of one mechanism: no released count is among it.

    Attributes
    ----------
    threshold : which labels are released, in a sentence; empty if all are.
    public : what is published without noise, beside parameters and bounds, in sentences.
    cuts : whether the mechanism itself cuts each protected unit to its bounds.
    continues : whether a release holds all earlier ones of its run, at the cost of one.
    """

    threshold: str = ""
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
    read : reads FILE, the list `options.file` of names, and returns the data that the mechanism is
        given. If a ledger pays, it has paid by then.
    data : returns what is known of the data before they are read.
    records : maximum number of records of one unit of the data.
    bound : the option that bounds the records of a user. With it the command also has the options
        of users and of a text file's delimiter, refuses rows of which nothing is said of whose
        they are, and states unit and records itself; `options.unit_name` is what a user is called.
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
    bound: Option | None = None


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
    table : returns the released table, with an interval of each number: every format of `--table`
        is made from it. Labels that are no numbers, dates or truth values are texts.
    charts : returns the charts of a release.
    mechanism_type : what its mechanisms have in common.
    comparing : how its mechanisms are compared; None if they are not.
    data_type : type of the data that its mechanisms release, if these state bounds: `unit`, whom
        they protect or None, and `sensitivity`, the maximum number of records of one such unit.
    accept : refuses data of this type whose bounds a mechanism does not protect, with a
        `DphistError`. A ledger calls it with mechanism and data before it charges; it must depend
        on the stated bounds alone.
    refuse_other : the same of data of other types, such as arrays; it must depend on their type
        and shape alone. None if all such data are read only after they were paid for.
    columns : names the columns of the table of a value, for a disclosure.
    disclosed : returns what is disclosed of a mechanism, and of its value if there is one.
    may_hide_small : whether estimates below a number may be left out, as rules for small counts
        ask. Then `document` shows none below `DataFacts.below`, nor what would tell it, except in
        figures, which are left out, and in JSON; of the table, the column count is known.
    commands : of `dphist`, by name.
    of_value : returns what a notebook shows of a value by itself, with up to a number of rows.
        The title of the section says what it is.
    planning : how its releases are planned and compared with a plan; None if they cannot be.
    auditing : how its mechanisms are audited; without it, only on neighbors that callers give.
    differing : returns what is said of two releases of the kind, row by row, for their difference;
        a `DphistError` says why two have none. None if releases of the kind have no differences.
    """

    name: str
    title: str
    value_type: type[Any]
    document: Callable[[Any, DataFacts, Release | None], Document]
    table: Callable[[Release], pa.Table]
    charts: Callable[[Release], Sequence[Chart]]
    mechanism_type: type[Any]
    comparing: Comparing | None = None
    data_type: type[Any] | None = None
    accept: Callable[[Any, Any], object] | None = None
    refuse_other: Callable[[Any, Any], object] | None = None
    columns: Callable[[Any], str] | None = None
    disclosed: Callable[[Any, Any], Disclosed] | None = None
    may_hide_small: bool = False
    commands: Mapping[str, Releasing] = field(default_factory=dict)
    of_value: Callable[[Any, int], Section] | None = None
    planning: Planning | None = None
    auditing: Auditing | None = None
    differing: Callable[[Release, Release], Differing] | None = None


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


def find_kind_of_value(value: object) -> Kind | None:
    """Return the kind of a released value; None if it has none."""
    for value_type in type(value).__mro__:
        for kind in kinds():
            if kind.value_type is value_type:
                return kind
    return None


def kind_of_mechanism(mechanism: object) -> Kind | None:
    """Return the kind that has a mechanism; None if it is of none."""
    return next((kind for kind in kinds() if isinstance(mechanism, kind.mechanism_type)), None)


def find_kind(release: Release) -> Kind:
    """Return the kind of a release.

    Raises
    ------
    UnsupportedError
        If nobody registered one.
    """
    kind = find_kind_of_value(release.value)
    if kind is None:
        raise UnsupportedError(
            f"no kind is registered for a value of type {type(release.value).__name__}; see "
            "dphist.register"
        )
    return kind
