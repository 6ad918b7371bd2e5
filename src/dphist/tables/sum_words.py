"""What pages, terminals and JSON say of sums and means of tables."""

from collections.abc import Iterable
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from dphist.document.blocks import (
    EVERYWHERE,
    ON_JSON,
    READ,
    Block,
    Column,
    Fact,
    PlusMinus,
    Section,
    Table,
)
from dphist.document.estimates import INTERVAL_OF_MEANS, make_columns
from dphist.privacy.as_text import plain, up
from dphist.release.interval_estimate import name_columns
from dphist.release.maker import Maker
from dphist.sentence import Quoted, Sentence, join_sentences
from dphist.tables import words
from dphist.tables.charts import list_texts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Names
from dphist.tables.mechanism import Tables
from dphist.visible import harmless

_ROWS, _LONGEST = 500, 60

CLAMPING = Sentence(
    "The value of each {record} is clamped to the bounds before it is added. Nothing is known of "
    "how many values were outside: intervals cover the noise, not what clamping, or bounding of "
    "{records}, changed."
)
MEANS = Sentence(f"A mean is over the {{records}} that are counted. {INTERVAL_OF_MEANS}")


def tell_sums(
    mechanism: Maker, value: KeyedTables | None = None, below: int | None = None
) -> list[Section]:
    """Return what is said of sums and means, if there are any.

    Parameters
    ----------
    value : of a release; None in a dry run.
    below : of cells with a smaller count no sums are shown; None to show all.
    """
    if not isinstance(mechanism, Tables) or not mechanism.sums:
        return []
    errors = mechanism.errors_of_sums()
    blocks: list[Block] = []
    held: dict[str, Any] = {}
    for name, clamp in mechanism.sums:
        bounds = dict(zip(("low", "high", "step"), clamp.to_content(), strict=True))
        held[name] = {**bounds, "errors": errors[name]}
        by_names = zip(mechanism.tables, errors[name].values(), strict=True)
        blocks.append(_say_errors(name, bounds, by_names))
    blocks += [
        Fact("", "", "sums", held, on=ON_JSON),
        Fact("Clamping", CLAMPING),
        Fact("Means", MEANS),
    ]
    found = [Section("sums", "Sums and means", blocks, EVERYWHERE)]
    if value is not None:
        tables = partial(_list_tables, value, below)
        found.append(Section("sums-by-table", "Sums and means by table", tables, READ, wide=True))
    return found


def _say_errors(name: str, bounds: dict[str, str], errors: Iterable[tuple[Names, float]]) -> Fact:
    """Return within what the noise of a sum stays, by table."""
    errors_in_words = [
        Sentence(
            "by {table} ± {width}",
            table=words.name_table(table),
            width=plain(up(PlusMinus.of(error).half_width, 3)),
        )
        for table, error in errors
    ]
    note = Sentence(
        "with probability 95 %, for each cell by itself; the value of {a_record} is clamped from "
        "{low} to {high}, in steps of {step}",
        low=bounds["low"],
        high=bounds["high"],
        step=bounds["step"],
    )
    column = Quoted(harmless(name, _LONGEST))
    said = Sentence("{name} {errors}", name=column, errors=join_sentences(errors_in_words, "; "))
    return Fact("Error of sums", said, note=note)


def _list_tables(value: KeyedTables, below: int | None) -> list[Block]:
    """Return the sums and means of each column in each table asked."""
    asked = product(value.summed, value.tables)
    return [_make_table(value, names, name, below) for name, names in asked]


def _make_table(value: KeyedTables, names: Names, name: str, below: int | None) -> Table:
    table, over = value.table(*names), harmless(name, _LONGEST)
    rows = list(islice(product(*(list_texts(value.keys[key]) for key in names)), _ROWS))
    columns = [
        Column(key, [row[place] for row in rows], heads=True) for place, key in enumerate(names)
    ]
    for what, head in (("sum", "Sum (clamped)"), ("mean", "Mean (clamped)")):
        held = [table.sums[each][:_ROWS] for each in name_columns(f"{name}_{what}")]
        made = make_columns(head, np.stack(held, axis=1), over)
        if below is not None:
            small = table.counts.ravel()[:_ROWS] < below
            made = [column.leave_out(small) for column in made]
        columns += made
    caption = Sentence("{name} by {table}", name=Quoted(over), table=words.name_table(tuple(names)))
    first = Sentence("{caption}; the first rows", caption=caption)
    heads = [] if names else [Column("", ["All"])]
    return Table([*heads, *columns], (caption, first, ""), total=len(table))
