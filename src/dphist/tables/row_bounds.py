"""How rows are bounded: what is left out, and a key on which all rows of a person differ."""

from typing import Any

from dphist.errors import Argument, ParameterError, phrase
from dphist.parameters import whole_number
from dphist.tables.keys import Keys
from dphist.tables.lattice import MOST_PATTERNED


def read_max_rows(given: Any, user: str | None, count: str | None) -> int:
    """Return how many rows one unit adds at most: 1 where none are bounded.

    Raises
    ------
    ParameterError
    """
    if user is not None and given is None:
        raise ParameterError(("user", "max_rows"), "must be given together, or neither")
    if user is None and count is None and given is not None:
        raise ParameterError(
            "max_rows", phrase("needs {user}, a column of users, or {count}, one of counts")
        )
    return 1 if given is None else whole_number(given, "max_rows", 1)


def read_one_row_per(given: Any, keys: Keys, max_rows: int) -> str:
    """Return the name of the key of which a person has one row for each value, at most.

    Such a key has listed values alone. Rows that lie in "other" or in a bin differ in what they
    hold, and not in the cell that they are counted in, so nothing is gained by what they hold.

    Parameters
    ----------
    max_rows : rows of one person that are counted, at most.

    Raises
    ------
    ParameterError
    """
    if not isinstance(given, str) or not given:
        raise ParameterError("one_row_per", "must name a key, such as 'day'")
    if given not in keys.names:
        raise ParameterError("one_row_per", f"must name one of the keys: {given!r} is none")
    if keys.discovering:
        raise ParameterError(
            "one_row_per",
            f"must be left out where values are found, as those of {keys.discovering[0].name!r}",
            "list the values in " + Argument("keys"),
        )
    key = keys[given]
    if key.axis is not None:
        raise ParameterError(
            "one_row_per",
            f"must name a key whose values are listed: {given!r} has bins, and rows of one person "
            "with several values may be in one bin",
            "list its values in " + Argument("keys"),
        )
    if key.other:
        raise ParameterError(
            "one_row_per",
            f'must name a key without a value "other", which {given!r} has: rows of one person '
            "with several values that are not listed would be alike",
            "leave it out of " + Argument("other") + ", with " + Argument("unlisted", "drop"),
        )
    if max_rows > key.size:
        raise ParameterError(
            "max_rows",
            f"must be at most {key.size:,}, the number of values of {given!r}: with one row for "
            "each value of it, nobody has more",
        )
    return given


def find_place_of_rows(
    given: Any, keys: Keys, max_rows: int, user: str | None, count: str | None
) -> int | None:
    """Return the position of the key of which a user has one row for each value; None for none.

    Raises
    ------
    ParameterError
    """
    if given is None:
        return None
    if user is None:
        raise ParameterError(
            "one_row_per",
            "needs " + Argument("user") + ": without users, each row is bounded by itself",
            "name the column of users",
        )
    if count is not None:
        raise ParameterError(
            ("one_row_per", "count"),
            "must not both be given: a row of several records has all of them for one value",
            "leave out one of them",
        )
    return keys.names.index(read_one_row_per(given, keys, max_rows))


def check_priced(pure: bool, ranges: bool, keys: int) -> None:
    """Refuse tables in which rows that differ on a key have no price of their own.

    Parameters
    ----------
    pure : whether noise is geometric.
    ranges : whether ranges of some key are asked.
    keys : the number of keys with at least two values.

    Raises
    ------
    ParameterError
    """
    if pure:
        raise ParameterError(
            "one_row_per",
            "must be left out without a delta: a pure epsilon adds up over rows, alike or not",
            "give " + Argument("delta") + " with epsilon, or " + Argument("rho"),
        )
    if ranges:
        raise ParameterError(
            ("one_row_per", "ranges"),
            "must not both be given: with noise by level, what two rows cost depends on their "
            "values, and not on which of them differ",
            "leave out one of them",
        )
    if keys > MOST_PATTERNED:
        raise ParameterError(
            "one_row_per",
            f"must be left out with more than {MOST_PATTERNED} keys of several values",
            "count by fewer keys",
        )


def check_unlisted(given: object) -> None:
    """Refuse anything else than what may be done with rows outside the keys."""
    if not isinstance(given, str) or given not in ("error", "drop"):
        raise ParameterError("unlisted", 'must be "error" or "drop"')


def state_bounds(unlisted: str, one_row_per: str | None) -> dict[str, str]:
    """Return what a release states of how rows were bounded: nothing of what is the default."""
    found = {"unlisted": unlisted} if unlisted == "drop" else {}
    return found if one_row_per is None else {**found, "one_row_per": one_row_per}
