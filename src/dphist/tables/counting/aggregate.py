"""From rows to (count, prevalence) pairs, inside the engine that holds the rows.

An anonymized histogram of n records has at most about sqrt(2 n) different counts. Two
group-bys, by label and then by count, leave only those to Python. Both are one query, as a
lazy frame may give other rows the second time; whatever is wrong with a record is therefore
carried along as a number in a column of its own, and read off the pairs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dphist.errors import DataError
from dphist.tables.checks import LARGEST, IntArray, check_total
from dphist.tables.engine.progress import Progress
from dphist.tables.reading.columns import check_request
from dphist.tables.reading.files import open_file
from dphist.tables.reading.frames import AnyFrame, Source, source_of

# What may be wrong with a record; the largest number found is reported.
_SOUND, _NO_COUNT, _NEGATIVE, _TOO_LARGE, _NO_LABEL = range(5)
_SECOND_COLUMN = 10  # added for a problem of the second of two count columns

# Engines wrap sums of int64 silently at 2**63. A rough sum beside it, of floats in blocks
# of 1024 records, is off by less than 1024 a row: below this many blocks the int64 sum has
# not wrapped, above it the sum is certainly 2**62 or more. Blocks keep each float below
# 2**53, beyond which Arrow refuses to make one.
_BLOCK = 1024
_SURE = 1.5 * 2**62 / _BLOCK


def count_records(
    frame: object, *, label: str, progress: Progress | None = None
) -> tuple[IntArray, IntArray]:
    """Count how many labels occur exactly how often, in a table of one row a record.

    Parameters
    ----------
    frame : dataframe or path
        Anything Narwhals reads (pandas, Polars, DuckDB, Arrow, ...), evaluated once, in
        its own engine, or a file: .csv, .tsv or .txt, each also with .gz or .zst, or
        .parquet. A text file is UTF-8 with a header line, and all its fields are text; an
        empty field is a missing label, ``""`` is the empty label.
    label : str
        The column of labels. They are compared exactly as the engine holds them: nothing
        is trimmed and case counts.
    progress : function of a float, optional
        Called from another thread, now and then while a file is read, with the fraction
        done, 0 to 1. Never called for a dataframe.

    Returns
    -------
    counts : (d,) int64, ascending, distinct, at least 1
        In records.
    prevalences : (d,) int64, at least 1
        How many labels have each count.

    Raises
    ------
    ParameterError
        If `frame` is no table.
    ColumnError
        If the column is missing or its type has no exact equality (floats, lists).
    DataError
        If a label is missing.
    InputFileError
        If the file is missing or not what its name says.
    """
    with opened(frame, {"label": label}, progress) as source:
        rows = source.collect(_occurrences, ["records", "prevalence", "problem"])
    _raise_problem(source, [row[2] for row in rows], ["label"])
    return as_arrays([(row[0], row[1]) for row in rows])


def sum_counts(
    frame: object, *, label: str, count: str, progress: Progress | None = None
) -> tuple[IntArray, IntArray]:
    """Count how many labels have which sum of counts, in a table of labels with counts.

    Parameters
    ----------
    frame, label, progress
        As for `count_records`.
    count : str
        The column of counts, in records: an integer type, or decimal digits in a text
        file. Rows of one label are added up; labels that add up to zero are dropped.

    Returns
    -------
    counts, prevalences : (d,) int64
        As of `count_records`.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As by `count_records`; a ColumnError also if the counts are not of an integer type.
    DataError
        If a label or count is missing, a count is negative, or there are 2**62 records or
        more.
    """
    with opened(frame, {"label": label, "count": count}, progress) as source:
        rows = source.collect(_sums, ["value", "prevalence", "problem", "blocks"])
    _raise_problem(source, [row[2] for row in rows], ["count"])
    _check_sums(source, [(row[0], row[3]) for row in rows], "count")
    counts, prevalences = as_arrays([(row[0], row[1]) for row in rows if row[0] != 0])
    check_total(counts, prevalences)
    return counts, prevalences


def read_profile(frame: object, *, progress: Progress | None = None) -> tuple[IntArray, IntArray]:
    """Read an anonymized histogram: columns ``count`` and ``prevalence``.

    Parameters
    ----------
    frame, progress
        As for `count_records`, with columns ``count``, in records, and ``prevalence``, how
        many labels have that count. Rows with prevalence 0 say nothing and are dropped;
        the prevalences of a count that is there twice are added up.

    Returns
    -------
    counts, prevalences : (d,) int64
        As of `count_records`.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As by `sum_counts`.
    DataError
        If a value is missing or negative, a count is zero, or there are 2**62 records or
        more.
    """
    with opened(frame, {"count": "count", "prevalence": "prevalence"}, progress) as source:
        rows = source.collect(_merged, ["count", "value", "problem", "blocks"])
    _raise_problem(source, [row[2] for row in rows], ["count", "prevalence"])
    _check_sums(source, [(row[1], row[3]) for row in rows], "prevalence")
    kept = [(row[0], row[1]) for row in rows if row[1] != 0]
    if any(count == 0 for count, _ in kept):
        raise DataError("column 'count' must be at least 1: drop the row of labels never seen")
    counts, prevalences = as_arrays(kept)
    check_total(counts, prevalences)
    return counts, prevalences


@contextmanager
def opened(frame: object, names: dict[str, str], progress: Progress | None) -> Iterator[Source]:
    """Open a dataframe or a file, having checked the parameters."""
    check_request(names, progress)
    if isinstance(frame, str | os.PathLike):
        with open_file(frame, names, progress) as source:
            yield source
    else:
        yield source_of(frame, names)


def _occurrences(frame: AnyFrame) -> AnyFrame:
    """From rows of labels to (records, prevalence, problem)."""
    labels = frame.group_by("label").agg(records=nw.len())
    labels = labels.with_columns(problem=nw.col("label").is_null().cast(nw.Int64) * _NO_LABEL)
    return by_records(labels)


def by_records(labels: AnyFrame) -> AnyFrame:
    """From rows (records, problem), one a label, to (records, prevalence, problem)."""
    return labels.group_by("records").agg(prevalence=nw.len(), problem=nw.col("problem").max())


def _sums(frame: AnyFrame) -> AnyFrame:
    """From rows (label, count) to (value, prevalence, problem, blocks), by sum of counts."""
    found = nw.when(nw.col("label").is_null()).then(_NO_LABEL)
    frame = frame.with_columns(problem=found.otherwise(_problem(frame, "count")))
    labels = _added_up(frame, key="label", summed="count")
    return labels.group_by("value").agg(
        prevalence=nw.len(), problem=nw.col("problem").max(), blocks=nw.col("blocks").max()
    )


def _merged(frame: AnyFrame) -> AnyFrame:
    """From rows (count, prevalence) to (count, value, problem, blocks), by count."""
    first = _problem(frame, "count")
    second = _problem(frame, "prevalence", _SECOND_COLUMN)
    frame = frame.with_columns(problem=nw.when(first > _SOUND).then(first).otherwise(second))
    # Before a count can serve as a key it has to fit into int64.
    frame = frame.with_columns(count=_if_sound(frame, "count"))
    return _added_up(frame, key="count", summed="prevalence")


def _problem(frame: AnyFrame, column: str, offset: int = 0) -> Any:
    """Return what is wrong with each value of an integer column, as one of the numbers."""
    dtype = frame.collect_schema()[column]
    value = nw.col(column)
    found: Any = nw.lit(_SOUND)
    # Narrower types cannot hold such values, nor can every engine compare them with one.
    if dtype in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128):
        found = nw.when(value > nw.lit(LARGEST, dtype)).then(_TOO_LARGE + offset).otherwise(found)
    if dtype.is_signed_integer():
        found = nw.when(value < nw.lit(0, dtype)).then(_NEGATIVE + offset).otherwise(found)
    return nw.when(value.is_null()).then(_NO_COUNT + offset).otherwise(found)


def _if_sound(frame: AnyFrame, column: str) -> Any:
    """Return the values of a column as int64, with 0 in rows that have a problem."""
    zero = nw.lit(0, frame.collect_schema()[column])
    return nw.when(nw.col("problem") == _SOUND).then(nw.col(column)).otherwise(zero).cast(nw.Int64)


def _added_up(frame: AnyFrame, key: str, summed: str) -> AnyFrame:
    """For each `key`: ``value``, the sum, ``blocks``, the rough sum, and ``problem``."""
    # In steps, as not every engine takes an expression inside `agg`.
    frame = frame.with_columns(value=_if_sound(frame, summed))
    frame = frame.with_columns(blocks=(nw.col("value") // _BLOCK).cast(nw.Float64))
    return frame.group_by(key).agg(
        value=nw.col("value").sum(),
        blocks=nw.col("blocks").sum(),
        problem=nw.col("problem").max(),
    )


def _raise_problem(source: Source, problems: list[int], roles: list[str]) -> None:
    """Raise the error for the largest problem number, if there is one."""
    worst = max(problems, default=_SOUND)
    if worst == _SOUND:
        return
    if worst == _NO_LABEL:
        name = source.names["label"]
        raise DataError(f"column {name!r} has rows without a label: drop them or give them one")
    name = source.names[roles[worst // _SECOND_COLUMN]]
    kind = worst % _SECOND_COLUMN
    if kind == _NO_COUNT:
        raise DataError(f"column {name!r} has rows without a value: drop them or fill them in")
    if source.from_text:
        raise DataError(
            f"column {name!r} must hold whole numbers from 0 to 2**62 - 1 in decimal digits, "
            "without a point, an exponent or a separator"
        )
    if kind == _NEGATIVE:
        raise DataError(f"column {name!r} must not be negative: remove or correct such rows")
    raise DataError(f"column {name!r} must be at most 2**62 - 1: remove or correct such rows")


def _check_sums(source: Source, sums: list[tuple[int, float]], role: str) -> None:
    """Refuse sums that wrapped, or would be too large for a count."""
    if any(blocks >= _SURE or exact > LARGEST for exact, blocks in sums):
        raise DataError(
            f"column {source.names[role]!r} must add up to less than 2**62 for each "
            f"{'label' if role == 'count' else 'count'}"
        )


def as_arrays(pairs: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    """Return pairs as two arrays, ascending by the first."""
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()
