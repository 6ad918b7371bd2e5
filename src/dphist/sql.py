"""SQL that bounds users and counts labels in a warehouse, from which only counts leave.

`count_labels` returns the text of one query. A warehouse runs it, and its rows become a
`LabelCounts` by `label_counts`:

>>> import duckdb
>>> import dphist as dh
>>> rows = duckdb.sql("SELECT * FROM (VALUES (1, 'tea'), (1, 'ham'), (2, 'tea')) t(who, item)")
>>> query = dh.sql.count_labels(
...     dialect="duckdb", table="rows", label="item", user="who", max_labels=2
... )
>>> counts = dh.sql.label_counts(duckdb.sql(query).to_arrow_table(), max_labels=2)
>>> counts.counts_of(["ham", "tea"])
[1, 2]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dphist.counting import LARGEST
from dphist.counting.bounding.bounds import fresh_key
from dphist.data.label_counts import LabelCounts
from dphist.errors import ParameterError
from dphist.parameters import whole_number

__all__ = ["DIALECTS", "count_labels", "label_counts"]


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a warehouse writes the few things that differ.

    Attributes
    ----------
    octets : the bytes of any value's text; equal exactly if the texts are, whatever the collation.
    text : the text of such bytes.
    wide : type of sums of whole numbers of 64 bits.
    """

    octets: str
    text: str
    wide: str


_DIALECTS = {
    "duckdb": _Dialect("encode(CAST({} AS VARCHAR))", "decode({})", "HUGEINT"),
    "postgres": _Dialect(
        "convert_to(CAST({} AS TEXT), 'UTF8')", "convert_from({}, 'UTF8')", "NUMERIC"
    ),
}

DIALECTS = tuple(_DIALECTS)
"""The warehouses that `count_labels` writes for: tests run its queries in each."""


def count_labels(
    *,
    dialect: str,
    table: str | Sequence[str],
    label: str,
    user: str,
    max_labels: int,
    count: str | None = None,
    max_count: int = 1,
) -> str:
    """Return a query that bounds each user, then counts the labels of a table.

    Parameters
    ----------
    dialect : "duckdb" or "postgres".
    table : name of a table or view; for several parts, such as schema and table, a list of names.
        Names are quoted, so that they stay names.
    label, user : columns of any type that the warehouse can write as text. Two values are one label
        or user exactly if their texts have the same bytes: no collation of the warehouse merges
        two. Cast users to text or integers before: two users with values of the same text, such
        as floats that are shown rounded, are bounded as one, and neither is protected. Rows without
        a user or a label are dropped.
    max_labels : maximum number of labels of one user; each user keeps that many, chosen at random
        and independently of other users.
    count : column of whole numbers, if a row is that many records (default: each row is one).
        Missing and negative ones are 0.
    max_count : maximum that one user adds to a label. Rows of one user and label are added first.

    Returns
    -------
    str
        A query with the columns label (text) and count (whole numbers, at least 1). Its result is
        as secret as the table. Each call draws a key for the choice of labels, so that no two
        results need to be the same.

    Raises
    ------
    ParameterError

    Notes
    -----
    **Guarantee.** In the result of one run of the query, all rows of one user change at most
    `max_labels` counts, each by at most `max_count` (docs/understand/proofs/bounding.md, Lemma 9),
    if the warehouse evaluates the query as SQL says, over one state of the table.
    """
    if dialect not in _DIALECTS:
        raise ParameterError("dialect", f"must be one of {', '.join(map(repr, DIALECTS))}")
    used = _DIALECTS[dialect]
    labels = whole_number(max_labels, "max_labels", 1, most=LARGEST)
    most = whole_number(max_count, "max_count", 1, most=LARGEST)
    source = _source(table)
    who, term = (
        used.octets.format(_quoted(name, role)) for name, role in ((user, "user"), (label, "label"))
    )
    amount = "1"
    if count is not None:
        counted = f"CAST({_quoted(count, 'count')} AS BIGINT)"
        amount = f"GREATEST(LEAST(COALESCE({counted}, 0), {most}), 0)"
    hashed = f"md5(CONCAT('{fresh_key()}', md5(dphist_who), md5(dphist_term)))"
    # No alias is a name that a caller can give: it could stand in for a column that is missing.
    return f"""\
WITH
  -- Texts as bytes, so that no collation merges two users or labels.
  dphist_given AS (
    SELECT {who} AS dphist_who, {term} AS dphist_term, {amount} AS dphist_amount
    FROM (SELECT * FROM {source}) AS dphist_table
  ),
  dphist_pairs AS (
    SELECT dphist_who, dphist_term,
      LEAST(SUM(CAST(dphist_amount AS {used.wide})), {most}) AS dphist_added
    FROM dphist_given
    WHERE dphist_who IS NOT NULL AND dphist_term IS NOT NULL AND dphist_amount > 0
    GROUP BY dphist_who, dphist_term
  ),
  -- Which labels a user keeps depends on the key and on this user's labels alone.
  dphist_ranked AS (
    SELECT dphist_term, dphist_added,
      ROW_NUMBER() OVER (PARTITION BY dphist_who ORDER BY {hashed}, dphist_term) AS dphist_place
    FROM dphist_pairs
  ),
  dphist_counted AS (
    SELECT dphist_term, LEAST(SUM(dphist_added), {LARGEST}) AS dphist_sum
    FROM dphist_ranked
    WHERE dphist_place <= {labels}
    GROUP BY dphist_term
  )
SELECT {used.text.format("dphist_term")} AS "label", CAST(dphist_sum AS BIGINT) AS "count"
FROM dphist_counted
"""  # noqa: S608 - names are quoted, all else is ours


def label_counts(
    rows: Any, *, max_labels: int, max_count: int = 1, unit: str | None = None
) -> LabelCounts:
    """Return the rows of a query of `count_labels` as `LabelCounts`.

    Parameters
    ----------
    rows : all rows of the result, as a table of pandas, Polars, Arrow or DuckDB with the columns
        label and count.
    max_labels, max_count : those of the query; dphist cannot check them.
    unit : what a user is, such as "one patient" (default: "one user").

    Raises
    ------
    ParameterError, ColumnError, DataError
    """
    bound = whole_number(max_labels, "max_labels", 1)
    return LabelCounts.promised(rows, bound, max_count, unit, only_adds=True)


def _source(table: Any) -> str:
    """Return the name of a table, or of its schema and it, as SQL writes it."""
    names = [table] if isinstance(table, str) else table
    if not isinstance(names, list | tuple) or not names:
        raise ParameterError("table", "must be the name of a table, or a list of names")
    return ".".join(_quoted(name, "table") for name in names)


def _quoted(name: Any, parameter: str) -> str:
    """Return a name as an identifier; ParameterError if it cannot be one."""
    if not isinstance(name, str) or not name or "\0" in name or "\\" in name:
        raise ParameterError(parameter, "must be a name, without backslashes")
    if name.lower().startswith("dphist_"):
        raise ParameterError(parameter, "must not begin with dphist_: the query has such names")
    return '"' + name.replace('"', '""') + '"'
