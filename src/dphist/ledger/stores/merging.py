"""Several statements as one, which a PostgreSQL server answers in less time than each by itself."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dphist.ledger.stores.roundtrip import Statement
from dphist.ledger.stores.schema import TABLES, columns_of, key_of

_WRITES = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_QUESTION = re.compile(r"SELECT (.*?) FROM (\w+)(.*)", re.DOTALL)


def merge_writes(statements: Sequence[Statement]) -> list[Statement]:
    """Return statements that write the same.

    The parts of one statement do not see what the others write, and none may write a row that
    another writes. So rows of one table are merged only if they are inserted under different keys.
    """
    merged: list[Statement] = []
    parts: list[Statement] = []
    rows: dict[str, set[Any]] = {}
    for statement in statements:
        table, width = _written(statement[0])
        key = tuple(statement[1][:width]) if width else None
        held = rows.get(table, set())
        if not table or (held and (None in held or key is None or key in held)):
            merged += _one(parts)
            parts, rows = [], {}
        if not table:
            merged.append(statement)
            continue
        parts.append(statement)
        rows.setdefault(table, set()).add(key)
    return [*merged, *_one(parts)]


@lru_cache(maxsize=64)
def _written(text: str) -> tuple[str, int]:
    """Return the table that a statement writes, and how many of its first values are a new key.

    Returns
    -------
    The name, "" for what is not merged; and 0 if the statement may write any row.
    """
    written = _WRITES.match(text)
    if written is None or "SELECT" in text or written[2] not in TABLES:
        return "", 0
    names = key_of(written[2])
    inserted = text.partition("(")[2].partition(")")[0].split(", ")
    is_new = written[1] == "INSERT INTO" and inserted[: len(names)] == names
    return written[2], len(names) if is_new else 0


def _one(parts: Sequence[Statement]) -> list[Statement]:
    if len(parts) < 2:
        return list(parts)
    text = _joined(tuple([text for text, _ in parts]))
    return [(text, [value for _, values in parts for value in values])]


@lru_cache(maxsize=64)
def _joined(texts: tuple[str, ...]) -> str:
    *first, last = texts
    named = ", ".join(f"part{number} AS ({text})" for number, text in enumerate(first))
    return f"WITH {named} {last}"


def merge_questions(questions: Sequence[Statement]) -> Statement:
    """Return one question with the answers to all; `split_answers` takes them apart."""
    texts = _merged(tuple(text for text, _ in questions))
    return texts, [value for _, values in questions for value in values]


def split_answers(
    questions: Sequence[Statement], rows: Sequence[Sequence[Any]]
) -> list[list[tuple[Any, ...]]]:
    """Return the answer to each question, as it would be by itself."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in questions]
    kinds = [_columns(text) for text, _ in questions]
    for which, *values in rows:
        columns = zip(kinds[which], values, strict=False)  # the rest of the row is empty
        found[which].append(
            tuple(_whole(value) if is_number else value for (_, is_number), value in columns)
        )
    return found


def _whole(value: Any) -> Any:
    """Return a number; what no column of numbers holds stays text, which readers refuse."""
    try:
        return None if value is None else int(value)
    except ValueError:
        return value


@lru_cache(maxsize=64)
def _merged(questions: tuple[str, ...]) -> str:
    widest = max(len(_columns(question)) for question in questions)
    parts = []
    for number, question in enumerate(questions):
        asked = _QUESTION.fullmatch(question)
        assert asked is not None  # noqa: S101 - they are ours
        columns = [f"CAST({column} AS TEXT)" for column, _ in _columns(question)]
        columns += ["CAST(NULL AS TEXT)"] * (widest - len(columns))
        parts.append(f"SELECT {number}, {', '.join(columns)} FROM {asked[2]}{asked[3]}")  # noqa: S608
    return " UNION ALL ".join(parts)


@lru_cache(maxsize=64)
def _columns(question: str) -> list[tuple[str, bool]]:
    """Return what is asked for, and whether it is a whole number."""
    asked = _QUESTION.fullmatch(question)
    assert asked is not None  # noqa: S101
    kinds = {name: kind for name, kind, _ in columns_of(asked[2])}
    return [(name, kinds.get(name, "text") != "text") for name in asked[1].split(", ")]
