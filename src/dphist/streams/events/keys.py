"""Keys of batches: where a batch comes from, and its place there, so that none is counted twice."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from dphist.errors import ParameterError
from dphist.parameters import whole_number

_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BatchKey:
    """The place of a batch in its origin.

    Attributes
    ----------
    origin : what names the origin, as text: such as a topic and a partition.
    position : grows from batch to batch of one origin: such as an offset.
    """

    origin: str
    position: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the batches of an origin are counted.

    Attributes
    ----------
    position : that of the last batch of which events were counted.
    counted, events : how many of its events are counted, and how many it has.
    before : the position of the batch before it; None if it is the first.
    """

    position: int
    counted: int
    events: int
    before: int | None

    @property
    def is_whole(self) -> bool:
        """Whether the batch is counted whole."""
        return self.counted == self.events


def batch_key(key: Any) -> BatchKey | None:
    """Return a key as callers give it: names of the origin, then a whole number; None for None.

    Raises
    ------
    ParameterError
    """
    if key is None:
        return None
    if not isinstance(key, tuple | list) or len(key) < 2:
        raise ParameterError(
            "key",
            "must be a tuple that names where the batch comes from, and last a number that grows "
            'from batch to batch, such as ("topic", 0, 1234)',
        )
    return BatchKey(
        format_origin(key[:-1]), whole_number(key[-1], "the last item of key", 0, _LAST)
    )


def format_origin(names: Sequence[Any]) -> str:
    """Return the names of an origin as one text; ParameterError if one is no text or integer.

    Integers of NumPy, such as partitions that are read from a column, are those of Python. Else a
    consumer that gets its partitions in two ways would have two origins, and count events twice.
    """
    plain = [_as_plain(name) for name in names]
    if not plain or None in plain:
        raise ParameterError("key", "must hold names that are text or whole numbers")
    return json.dumps(plain)


def _as_plain(name: Any) -> str | int | None:
    """Return a name as text or an integer; None if it is neither."""
    if isinstance(name, str):
        return str.__str__(name)  # of an Enum its value
    if isinstance(name, bool):
        return None
    return int(name) if isinstance(name, Integral) else None
