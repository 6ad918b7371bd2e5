"""What `LabelCounts` is made from, checked: bounds, the unit of users, labels without a table."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from dphist.errors import Argument, DataError, ParameterError
from dphist.tables import redact_errors
from dphist.tables.counting.bounding import Bounds
from dphist.tables.counting.sets import Sets, sets_of
from dphist.tables.counting.stores import ArrowStore, Store


def label_bounds(
    user: str | None,
    count: str | None,
    max_labels: int | None,
    max_count: int,
    null_users: str,
    null_labels: str,
) -> Bounds:
    """Return the bounds, checked together with which columns there are."""
    bounds = Bounds(max_labels, max_count, null_users, null_labels)
    if user is None:
        if bounds.max_labels not in (None, 1):
            raise ParameterError(
                "max_labels",
                "must be 1 without "
                + Argument("user")
                + ", because each row is then a separate user with one label",
                "name the column of users",
            )
        if bounds.null_users != "refuse":
            raise ParameterError(
                "null_users", "needs " + Argument("user"), "name the column of users"
            )
        if count is None and bounds.max_count != 1:
            raise ParameterError(
                "max_count",
                "must be 1 without "
                + Argument("user")
                + " and "
                + Argument("count")
                + ", because each row is then a separate user that counts 1",
                "name the column of users, or of counts",
            )
        bounds = replace(bounds, max_labels=1)
    return bounds


def held_pairs(pairs: pa.Table, kind: pa.DataType) -> tuple[Sets, Store]:
    """Return who has which label, and how many have each."""
    sets = sets_of(pairs, kind)
    return sets, ArrowStore(sets.counts())


def unheld() -> DataError:
    return DataError(
        "the pairs of user and label could not be held in memory: lower "
        + Argument("max_labels")
        + ", or count the labels without "
        + Argument("keep_sets")
        + "; nothing was released"
    )


def label_array(labels: Any, label_type: pa.DataType | None) -> Any:
    """Return labels as an Arrow array of a type that does not depend on them."""
    typed = isinstance(labels, pa.Array | pa.ChunkedArray)
    if typed and label_type is None:
        return labels
    kind = pa.string() if label_type is None else label_type
    unfit = ParameterError(
        "labels",
        f"must be a sequence of type {kind}",
        "name another one as " + Argument("label_type") + ", such as pyarrow.int64()",
    )
    if isinstance(labels, str | bytes):
        raise unfit
    if typed:  # Arrow would crash on invalid offsets
        redact_errors(lambda: labels.validate(full=True), unfit)
    return redact_errors(lambda: labels.cast(kind) if typed else pa.array(labels, kind), unfit)
