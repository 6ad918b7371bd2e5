"""The cells of keys: how rows are counted by them, and how a part states which ones it counted."""

import json
import math

from dphist.counting import redact_errors
from dphist.counting.binning.key_grid import MOST_CELLS, KeyColumn, KeyGrid
from dphist.data.partial import no_part
from dphist.errors import DphistError, ParameterError
from dphist.foreign import read_json
from dphist.tables.keys import Key, Keys
from dphist.tables.row_bounds import read_one_row_per


def check_cells(keys: Keys) -> None:
    """Refuse keys with more cells together than an int64 numbers.

    Raises
    ------
    ParameterError
    """
    if math.prod(keys.shape) >= MOST_CELLS:
        raise ParameterError(
            "keys", "have 2**62 cells or more together", "count by fewer keys or values"
        )


def make_grid(keys: Keys, unlisted: str) -> KeyGrid:
    """Return how rows are counted by keys.

    Parameters
    ----------
    unlisted : what is done with rows outside the keys, as of `KeyedCounts`.
    """
    return KeyGrid(tuple(map(_make_column, keys)), unlisted == "drop")


def _make_column(key: Key) -> KeyColumn:
    if key.discover is not None:
        return KeyColumn(key.name, (), other=True, labels=True)
    if key.axis is None:
        return KeyColumn(key.name, key.values, other=key.other)
    return KeyColumn(key.name, None, key.axis.edges, key.axis.zone, key.other)


def check_listed(keys: Keys) -> None:
    """Refuse keys whose values are to be found, for parts: their texts are in no part.

    Raises
    ------
    ParameterError
    """
    if keys.discovering:
        raise ParameterError(
            "keys",
            f"must list the values of {keys.discovering[0].name!r}: parts have no values that are "
            "to be found",
            "list its values, or count the whole table with KeyedCounts.from_table",
        )


def write_keys(keys: Keys) -> str:
    """Return keys as text that is the same for the same cells alone, in the same order.

    Mappings are equal in any order, and numbers are equal to truth values; texts are not.
    """
    return json.dumps(keys.to_content())


def read_keys(text: str) -> Keys:
    """Return the keys of a part.

    Raises
    ------
    DataError
        If the text is not one that `write_keys` returns for keys of a part.
    """

    def read() -> Keys:
        keys = Keys.read(read_json(text))
        check_listed(keys)
        check_cells(keys)
        if write_keys(keys) != text:
            raise no_part()
        return keys

    try:
        return redact_errors(read, no_part())
    except DphistError:  # those of keys show names and values
        raise no_part() from None


def check_part(one_row_per: str | None, keys: Keys, max_rows: int) -> None:
    """Refuse a part that names a key of which nobody can have one row for each value.

    Raises
    ------
    DataError
    """
    try:
        if one_row_per is not None:
            read_one_row_per(one_row_per, keys, max_rows)
    except DphistError:  # shows names
        raise no_part() from None
