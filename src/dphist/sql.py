"""SQL that bounds users and counts labels or keys in a warehouse, from which only counts leave.

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

`count_keys` and `keyed_counts` do the same for tables by several keys:

>>> rows = duckdb.sql("SELECT * FROM (VALUES (1, 'f', 'BE'), (2, 'm', 'BE')) t(who, sex, region)")
>>> keys = {"sex": ["f", "m"], "region": ["BE", "UR"]}
>>> query = dh.sql.count_keys(dialect="duckdb", table="rows", keys=keys, user="who", max_rows=2)
>>> counts = dh.sql.keyed_counts(duckdb.sql(query).to_arrow_table(), keys=keys, max_rows=2)
>>> counts.sum_over((1,)).tolist()
[2, 0]
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dphist.counting import LARGEST
from dphist.counting.bounding.bounds import draw_key
from dphist.data.label_counts import LabelCounts
from dphist.data.other_than import OTHER, read_other_than
from dphist.errors import ParameterError
from dphist.parameters import whole_number
from dphist.privacy.unit import PrivacyUnit, asserted_unit
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keys import Key, Keys

__all__ = ["DIALECTS", "count_keys", "count_labels", "keyed_counts", "label_counts"]


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a warehouse writes the few things that differ.

    Attributes
    ----------
    column : a column of the table that is read. DuckDB takes a name alone, such as "user", for a
        function of that name where no column has it; PostgreSQL takes one after the table's for a
        function of the row.
    octets : the bytes of any value's text; equal exactly if the texts are, whatever the collation.
    text : the text of such bytes.
    known : bytes that are given, of their hexadecimal digits.
    wide : type of sums of whole numbers of 64 bits.
    table : what a query calls the table that is read. It is drawn for each: of a column of records
        with that name, DuckDB would take the fields for columns that are missing.
    """

    column: str
    octets: str
    text: str
    known: str
    wide: str
    table: str = ""

    def name(self, name: Any, parameter: str) -> str:
        """Return a column of the table that is read."""
        return self.column.format(table=self.table, name=_quote(name, parameter))

    def read(self, name: Any, parameter: str) -> str:
        """Return the bytes of the text of a column."""
        return self.octets.format(self.name(name, parameter))

    def or_other(self, term: str, labels: Sequence[str]) -> str:
        """Return a label, or "other" in place of one that is not listed; null for none."""
        known = [self.known.format(label.encode().hex()) for label in (OTHER, *labels)]
        stay = f"{term} IS NULL OR {term} IN ({', '.join(known)})"
        return f"CASE WHEN {stay} THEN {term} ELSE {known[0]} END"


_DIALECTS = {
    "duckdb": _Dialect(
        "{table}.{name}", "encode(CAST({} AS VARCHAR))", "decode({})", "unhex('{}')", "HUGEINT"
    ),
    "postgres": _Dialect(
        "{name}",
        "convert_to(CAST({} AS TEXT), 'UTF8')",
        "convert_from({}, 'UTF8')",
        "decode('{}', 'hex')",
        "NUMERIC",
    ),
}

DIALECTS = tuple(_DIALECTS)
"""The warehouses that queries are written for: tests run them in each."""


def count_labels(
    *,
    dialect: str,
    table: str | Sequence[str],
    label: str,
    user: str,
    max_labels: int,
    count: str | None = None,
    max_count: int = 1,
    other_than: Sequence[str] | None = None,
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
    other_than : public list of labels: each row with another one counts under the label "other", as
        for `LabelCounts.from_table`. Give `label_counts` the same. The query lists their bytes.

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
    used = _find(dialect)
    labels = whole_number(max_labels, "max_labels", 1, most=LARGEST)
    most = whole_number(max_count, "max_count", 1, most=LARGEST)
    who, term = used.read(user, "user"), used.read(label, "label")
    if other_than is not None:
        term = used.or_other(term, read_other_than(other_than, "other_than"))
    amount = "1"
    if count is not None:
        counted = f"CAST({used.name(count, 'count')} AS BIGINT)"
        amount = f"GREATEST(LEAST(COALESCE({counted}, 0), {most}), 0)"
    hashed = f"md5(CONCAT('{draw_key()}', md5(dphist_who), md5(dphist_term)))"
    # No alias is a name that a caller can give: it could stand in for a column that is missing.
    return f"""\
WITH
  -- Texts as bytes, so that no collation merges two users or labels.
  dphist_given AS (
    SELECT {who} AS dphist_who, {term} AS dphist_term, {amount} AS dphist_amount
    FROM {_source(table)} AS {used.table}
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
    rows: Any,
    *,
    max_labels: int,
    max_count: int = 1,
    unit: str | None = None,
    other_than: Sequence[str] | None = None,
) -> LabelCounts:
    """Return the rows of a query of `count_labels` as `LabelCounts`.

    Parameters
    ----------
    rows : all rows of the result, as a table of pandas, Polars, Arrow or DuckDB with the columns
        label and count.
    max_labels, max_count, other_than : those of the query; dphist cannot check them.
    unit : what a user is, such as "one patient" (default: "one user").

    Raises
    ------
    ParameterError, ColumnError, DataError
    """
    bound = whole_number(max_labels, "max_labels", 1)
    return LabelCounts.promised(rows, bound, max_count, unit, only_adds=True, other_than=other_than)


def count_keys(
    *,
    dialect: str,
    table: str | Sequence[str],
    keys: Any,
    user: str | None = None,
    max_rows: int | None = None,
) -> str:
    """Return a query that bounds each user, then counts the rows of a table by several keys.

    Parameters
    ----------
    dialect, table : as for `count_labels`.
    keys : as for `KeyedCounts.from_table`. Their names are the columns that rows are counted by,
        and their values say which type these must have: text, whole numbers, truth values, or for
        an `Axis` numbers, dates or times, with a time zone exactly if the axis has one. The query
        casts texts to that type, in the warehouse's own way, so that a column of another type may
        be rounded or end in an error: cast such a column before. The query itself lists no value.
    user : column of users, as for `count_labels`: text or integers, as two users with values of the
        same text are bounded as one. Rows without a user are dropped.
    max_rows : required with `user`: maximum number of rows of one user. Each user keeps that many,
        chosen at random and independently of other users, before a value is found to be listed or
        not.

    Returns
    -------
    str
        A query with a column for each key, and count (whole numbers, at least 1), for
        `keyed_counts`. Its result is as secret as the table. Each call draws a key for the choice
        of rows, so that no two results need to be the same.

    Raises
    ------
    ParameterError

    Notes
    -----
    **Guarantee.** In the result of one run of the query, all rows of one user change the counts by
    at most `max_rows` together (docs/understand/proofs/bounding.md, Lemma 9), if the warehouse
    evaluates the query as SQL says, over one state of the table.
    """
    used = _find(dialect)
    held = Keys.read(keys)
    if (user is None) != (max_rows is None):
        raise ParameterError(("user", "max_rows"), "must be given together, or neither")
    columns = [_quote(key.name, "keys") for key in held]
    who = "1" if user is None else used.read(user, "user")
    given = ", ".join(
        f"{used.read(key.name, 'keys')} AS dphist_key{place}" for place, key in enumerate(held)
    )
    texts = [f"dphist_key{place}" for place in range(len(columns))]
    listed = ", ".join(texts)
    kept = "dphist_given"
    ranked = ""
    if max_rows is not None:
        most = whole_number(max_rows, "max_rows", 1, most=LARGEST)
        hashes = ", ".join(f"COALESCE(md5({text}), '-')" for text in texts)
        hashed = f"md5(CONCAT('{draw_key()}', md5(dphist_who), {hashes}, dphist_same))"
        kept = f"dphist_ranked\nWHERE dphist_place <= {most}"
        ranked = f""",
  -- Rows of one user and cell differ in their number alone.
  dphist_numbered AS (
    SELECT dphist_who, {listed},
      ROW_NUMBER() OVER (PARTITION BY dphist_who, {listed} ORDER BY dphist_who) AS dphist_same
    FROM dphist_given
    WHERE dphist_who IS NOT NULL
  ),
  -- Which rows a user keeps depends on the key and on this user's rows alone.
  dphist_ranked AS (
    SELECT {listed},
      ROW_NUMBER() OVER (
        PARTITION BY dphist_who ORDER BY {hashed}, {listed}, dphist_same
      ) AS dphist_place
    FROM dphist_numbered
  )"""  # noqa: S608 - names are quoted, all else is ours
    shown = ", ".join(
        f"{_cast_text(key, used.text.format(text))} AS {column}"
        for key, text, column in zip(held, texts, columns, strict=True)
    )
    # No alias is a name that a caller can give: it could stand in for a column that is missing.
    return f"""\
WITH
  -- Texts as bytes, so that no collation merges two users or values.
  dphist_given AS (
    SELECT {who} AS dphist_who, {given}
    FROM {_source(table)} AS {used.table}
  ){ranked}
SELECT {shown}, COUNT(*) AS "count"
FROM {kept}
GROUP BY {listed}
"""  # noqa: S608 - names are quoted, all else is ours


def keyed_counts(
    rows: Any,
    *,
    keys: Any,
    other: Sequence[str] = (),
    unlisted: str = "error",
    max_rows: int | None = None,
    unit: str | PrivacyUnit | None = None,
) -> KeyedCounts:
    """Return the rows of a query of `count_keys` as `KeyedCounts`.

    Parameters
    ----------
    rows : all rows of the result, as a table of Arrow, Polars or DuckDB; of pandas, if no key has a
        missing value.
    keys : those of the query.
    other, unlisted : as for `KeyedCounts.from_table`.
    max_rows : that of the query, which dphist cannot check; None if it bounded no users.
    unit : what a user is, such as "one patient" (default: "one user"). Refused without `max_rows`.

    Raises
    ------
    ParameterError, ColumnError, DataError
    """
    if max_rows is None and unit is not None:
        raise ParameterError("unit", "needs max_rows: it says whose rows the query bounded")
    bound = None if max_rows is None else whole_number(max_rows, "max_rows", 1)
    protected = asserted_unit("user" if unit is None else unit)
    counts = KeyedCounts.from_table(rows, keys=keys, other=other, unlisted=unlisted, count="count")
    return counts if bound is None else replace(counts, max_rows=bound, unit=protected)


def _cast_text(key: Key, text: str) -> str:
    """Return the value of a text, of the type that the values of the key have."""
    if key.axis is None and not key.values:  # which are to be found, or none was
        return text
    if key.axis is None:
        kind = {str: "", int: "BIGINT", bool: "BOOLEAN"}[type(key.values[0])]
    elif key.axis.edges.dtype.kind == "M":
        kind = "TIMESTAMP" if key.axis.zone is None else "TIMESTAMP WITH TIME ZONE"
    else:
        kind = "DOUBLE PRECISION"
    return f"CAST({text} AS {kind})" if kind else text


def _find(dialect: str) -> _Dialect:
    """Return how a warehouse writes, for one query; ParameterError if none is called so."""
    if dialect not in _DIALECTS:
        raise ParameterError("dialect", f"must be one of {', '.join(map(repr, DIALECTS))}")
    return replace(_DIALECTS[dialect], table=f"dphist_table_{secrets.token_hex(8)}")


def _source(table: Any) -> str:
    """Return a table as a subquery, so that its own name is no column that stands for a row."""
    names = [table] if isinstance(table, str) else table
    if not isinstance(names, list | tuple) or not names:
        raise ParameterError("table", "must be the name of a table, or a list of names")
    name = ".".join(_quote(name, "table") for name in names)
    return f"(SELECT * FROM {name})"  # noqa: S608 - names are quoted


def _quote(name: Any, parameter: str) -> str:
    """Return a name as an identifier; ParameterError if it cannot be one."""
    if not isinstance(name, str) or not name or "\0" in name or "\\" in name:
        raise ParameterError(parameter, "must be a name, without backslashes")
    if name.lower().startswith("dphist_"):
        raise ParameterError(parameter, "must not begin with dphist_: the query has such names")
    return '"' + name.replace('"', '""') + '"'
