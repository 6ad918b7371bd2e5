"""The wanted columns: how they are found by their names, and which types they may have.

The module of each engine maps the type of a column to an Arrow type, from the schema alone. This
module accepts or refuses that type, by one closed list for every engine and every use, before any
rows are read. Each accepted type of labels, users and nodes has one canonical form, whatever table
or file its values come from: `canonical_type` is the type of this form, and the readers write the
values in it. Two values are equal if and only if their bytes in this form are equal, and a released
label can be saved and loaded. Other types are refused, such as intervals, where thirty days equal a
month, or times of day with a zone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dphist.counting.engine.redaction import redact_errors
from dphist.errors import ColumnError, ParameterError

_NO_TEXT = "; names must be text: rename them, as frame.columns = frame.columns.map(str) does"


class Use(Enum):
    """The purpose of a column, which determines the types it may have."""

    KEY = "labels, users or nodes, distinguished by their type and bytes"
    COUNT = "whole numbers of records"
    VALUE = "numbers, dates or timestamps to bin"
    TEXTS = "text, or lists of text: the labels of an event"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column that a caller names.

    Attributes
    ----------
    role : the name of the column in our tables, a lower-case word that SQL does not reserve.
    name : the caller's name of the column, for error messages.
    use : the purpose of its values.
    parameter : the parameter that names the column, for error messages.
    only_text : whether Python objects must be text, because they are compared with the values of
        other tables, which may have another type.
    """

    role: str
    name: str
    use: Use
    parameter: str
    only_text: bool = False


def key_column(role: str, name: str, parameter: str, *, only_text: bool = False) -> Wanted:
    """Return the description of a column of labels, users or nodes."""
    return Wanted(role, name, Use.KEY, parameter, only_text)


def count_column(role: str, name: str, parameter: str) -> Wanted:
    """Return the description of a column of whole numbers."""
    return Wanted(role, name, Use.COUNT, parameter)


def check_name(value: object, parameter: str) -> None:
    """Refuse a column name that is not text."""
    if not isinstance(value, str):
        raise ParameterError(parameter, "must be the name of a column, as text")


def check_request(wanted: Sequence[Wanted], progress: object) -> None:
    """Refuse invalid or repeated column names, and a `progress` that cannot be called."""
    for column in wanted:
        check_name(column.name, column.parameter)
    if len({column.name for column in wanted}) < len(wanted):
        raise ParameterError(
            tuple(column.parameter for column in wanted), "must be different columns"
        )
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ParameterError("progress", "must be a function of one number, True, or None")


def list_names(wanted: Iterable[Wanted]) -> str:
    """Return the names of columns, for a sentence."""
    return " and ".join(repr(column.name) for column in wanted)


def find_position(wanted: str, names: Sequence[Any], ignore_case: bool = False) -> int:
    """Return the position of the column `wanted` among `names`.

    Parameters
    ----------
    wanted : str
        The name of the column; compared exactly.
    names : sequence
        The names of all columns. They are part of the schema, so the error lists them.
    ignore_case : bool
        Whether to refuse two names that differ only in case, for an engine that treats ``a`` and
        ``A`` as one name.

    Raises
    ------
    ColumnError
        If there is no such column, or more than one.
    """
    if wanted not in names:
        listed = ", ".join(repr(_plain(name)) for name in names) or "none"
        no_text = "" if all(isinstance(name, str) for name in names) else _NO_TEXT
        raise ColumnError(f"there is no column {wanted!r}; the columns are: {listed}{no_text}")
    alike = [
        name
        for name in names
        if name == wanted or (ignore_case and str(name).casefold() == wanted.casefold())
    ]
    if len(alike) > 1:
        raise make_repeated_column_error(wanted)
    return list(names).index(wanted)


def _plain(name: Any) -> Any:
    """Return a name without NumPy's type, which the text of a number would show."""
    return name.item() if hasattr(name, "item") else name


def make_repeated_column_error(wanted: str) -> ColumnError:
    """Return the error for a name that two columns have."""
    return ColumnError(f"there is more than one column {wanted!r}: rename all but one")


UserType: TypeAlias = Literal["text", "integer", "boolean", "date", "bytes", "uuid"]
"""Types of users within which equal users are written alike, whatever container holds them."""

# Stands for every type of an engine that has no Arrow equivalent or is not accepted.
UNFIT = pa.month_day_nano_interval()
# Stands for the Python objects of a pandas column, whose types the schema does not contain. It is
# compared by identity, as a column may have this type.
OBJECTS = pa.struct([])

_MAX_DIGITS = 38
# Extension types that are read as the values they are stored as. Of others nobody knows which of
# their values are equal.
_AS_STORED = {"arrow.bool8", "arrow.json"}


def check_type(kind: pa.DataType, column: Wanted) -> None:
    """Refuse a column of an unsuitable type; a `VALUE` is checked by the search among edges.

    Python objects suit every use here: each is read, or refused, by itself.

    Raises
    ------
    ColumnError
        If the type does not suit the use of the column.
    """
    decoded = find_decoded_type(kind)
    if decoded is OBJECTS:
        return
    if column.use is Use.COUNT:
        _check_count(decoded, column.name)
    elif column.use is Use.KEY:
        _check_key(decoded, column.name)
    elif column.use is Use.TEXTS and not is_text(element_type(decoded) or decoded):
        raise ColumnError(
            f"column {column.name!r} must hold text, or lists of text: cast it to text"
        )


def find_decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values behind a dictionary, run-end or extension encoding.

    UUIDs are the one extension type that has a meaning of its own here.
    """
    while True:
        if is_uuid(kind):
            return kind
        if isinstance(kind, pa.BaseExtensionType):
            # Periods and intervals of pandas, for example, are stored as numbers.
            if kind.extension_name not in _AS_STORED:
                return UNFIT
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def element_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of the elements of any Arrow list type; None for other types."""
    types = pa.types
    plain_list = types.is_list(kind) or types.is_large_list(kind)
    view = types.is_list_view(kind) or types.is_large_list_view(kind)
    if plain_list or view or types.is_fixed_size_list(kind):
        return find_decoded_type(kind.value_type)
    return None


def canonical_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the canonical form of keys of a decoded type.

    So the type of a released label does not reveal which engine counted it. UUIDs are text of 36
    lower-case characters, as in engines without such a type. Dates are days. Moments are in
    microseconds or, if they are stored so, in nanoseconds; with a time zone they are in UTC. Python
    objects are text (see `objects`), and so is the null type, which readers give to an empty
    column.
    """
    types = pa.types
    if is_text(kind) or is_uuid(kind) or kind is OBJECTS:
        return pa.string()
    long = types.is_large_binary(kind) or types.is_binary_view(kind)
    if long or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_date(kind):
        return pa.date32()
    if types.is_timestamp(kind):
        unit = "ns" if kind.unit == "ns" else "us"
        return pa.timestamp(unit, None if kind.tz is None else "UTC")
    return pa.decimal128(kind.precision, kind.scale) if _is_decimal(kind) else kind


def find_identity(kind: pa.DataType) -> pa.DataType:
    """Return what two columns of keys share if and only if their values can be compared.

    It is the type of the canonical form. Text may spell a UUID in other ways than this form does,
    so the two differ.
    """
    decoded = find_decoded_type(kind)
    return decoded if is_uuid(decoded) else canonical_type(decoded)


def type_of_users(kind: pa.DataType) -> UserType | None:
    """Return the type of users in a column of a decoded type; None for moments and decimals."""
    types = pa.types
    if types.is_integer(kind):  # of any width: the same digits
        return "integer"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_date(kind):
        return "date"
    if is_uuid(kind):
        return "uuid"
    named: dict[pa.DataType, UserType] = {pa.string(): "text", pa.binary(): "bytes"}
    return named.get(canonical_type(kind))


def is_uuid(kind: pa.DataType) -> bool:
    """Whether this is Arrow's type of UUIDs."""
    return isinstance(kind, pa.UuidType)


def is_text(kind: pa.DataType) -> bool:
    """Whether this is a layout of text, or the null type."""
    types = pa.types
    long = types.is_large_string(kind) or types.is_string_view(kind)
    return bool(long or types.is_string(kind) or types.is_null(kind))


def comparable_type(kind: pa.DataType) -> pa.DataType:
    """Return a form of the type that is equal for two types if their values are read alike.

    This includes types of lists. The null type, UUIDs, and bytes of fixed length differ from all
    other types; engines use some of them for types that they do not know.
    """
    decoded = find_decoded_type(kind)
    elements = element_type(decoded)
    if elements is not None:
        return pa.large_list(comparable_type(elements))
    apart = pa.types.is_null(decoded) or pa.types.is_fixed_size_binary(decoded)
    return decoded if apart else find_identity(decoded)


def wide_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with offsets of 64 bits for text and bytes; other types stay unchanged."""
    held = canonical_type(kind)
    if held == pa.string() and not pa.types.is_null(kind):
        return pa.large_string()
    return pa.large_binary() if held == pa.binary() else kind


def is_key_type(kind: pa.DataType) -> bool:
    """Whether labels, users and nodes may have this Arrow type."""
    exact = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or _is_decimal(kind)
    day = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return exact or day or canonical_type(kind) in (pa.string(), pa.binary())


def to_exact(values: Any) -> Any:
    """Return a decoded column of keys in a form that DuckDB holds exactly: moments become integers.

    For example, DuckDB 1.5 has no nanoseconds with a time zone and would merge different values. It
    reads text and bytes in every layout.
    """
    kind = values.type
    if pa.types.is_timestamp(kind):
        return values.cast(canonical_type(kind)).cast(pa.int64())
    if pa.types.is_null(kind) or pa.types.is_date64(kind) or _is_decimal(kind):
        return values.cast(canonical_type(kind))
    return values


def _check_key(kind: pa.DataType, name: str) -> None:
    if pa.types.is_floating(kind):
        raise ColumnError(
            f"column {name!r} has a float type, which has no exact equality (pandas converts an "
            "integer column with missing values to floats): cast it to text or integers"
        )
    if not is_key_type(kind):
        raise ColumnError(
            f"column {name!r} must hold text, integers of up to 64 bits, truth values, dates, "
            "timestamps, bytes or decimals of up to 38 digits: cast it to text"
        )
    if pa.types.is_timestamp(kind):  # with an unknown time zone it could not be written
        unknown = ColumnError(
            f"column {name!r} has a time zone that this system does not know: convert it to UTC"
        )
        redact_errors(lambda: pa.array([0], pa.int64()).cast(kind).cast(pa.string()), unknown)


def _check_count(kind: pa.DataType, name: str) -> None:
    if pa.types.is_floating(kind):
        raise ColumnError(
            f"column {name!r} has a float type (pandas converts an integer column with missing "
            "values to floats): drop the rows without a value and cast it to integers"
        )
    if not (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ColumnError(f"column {name!r} must have an integer type: cast it to integers")


def _is_decimal(kind: pa.DataType) -> bool:
    """Whether this is a type of decimals that DuckDB has, too."""
    if not pa.types.is_decimal(kind):
        return False
    return bool(0 <= kind.scale <= kind.precision <= _MAX_DIGITS)
