"""Labels that are public, as a release file holds them."""

import datetime
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from dphist.data.other_than import read_other_than
from dphist.errors import Argument, ParameterError
from dphist.parameters import whole_number

_MOST_COUNTED = 10_000_000  # labels of which a list is made, for a number in its place


def read_known_labels(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return known labels as a release file holds them, checked to be distinct and of one kind."""
    problem = ParameterError(
        "labels",
        "must list at least one label, each once, all of one kind: text, whole numbers, truth "
        "values or dates",
    )
    if isinstance(labels, range) and labels:  # many labels of which nothing but the number matters
        return tuple(labels)
    if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
        raise problem
    held = tuple(_plain(label) for label in labels)
    if not held or None in held or len({type(label) for label in labels}) > 1:
        raise problem
    if len(set(held)) < len(held):
        raise problem
    return held


def is_other(other: object, known: tuple[Any, ...] | None) -> bool:
    """Return whether labels that are not known are released as one more, checked."""
    if not isinstance(other, bool):
        raise ParameterError("other", "must be True or False")
    if not other:
        return False
    if known is None:
        raise ParameterError(
            "other",
            "needs " + Argument("labels"),
            "leave it out: labels that are not listed are found, or not shown",
        )
    read_other_than(known, "labels")
    return True


def count_listed(labels: int | Sequence[Any]) -> int:
    """Return how many labels a public list has; the number itself may be given in its place."""
    if isinstance(labels, int):
        number = whole_number(labels, "labels", 1)
        if number > _MOST_COUNTED:
            raise ParameterError("labels", f"must be at most {_MOST_COUNTED:,} if it is a number")
        return number
    return len(read_known_labels(labels))


def number_listed(labels: Sequence[Any], known: tuple[Any, ...] | None) -> int:
    """Return how many labels are named, checked to be known and distinct."""
    if known is None:
        raise ParameterError("labels", "must be listed labels, and the mechanism lists none")
    named = read_known_labels(labels)
    if not set(named) <= set(known) or not {type(each) for each in named} <= {
        type(each) for each in known
    }:
        raise ParameterError("labels", "must be among the mechanism's listed labels")
    return len(named)


def _plain(label: object) -> str | int | bool | None:
    if isinstance(label, str | bool | np.bool_):
        return bool(label) if isinstance(label, np.bool_) else label
    if isinstance(label, Integral):
        return int(label)
    if not isinstance(label, datetime.date) or label != label:  # pandas' NaT is not itself
        return None
    return label.isoformat()
