"""The test of a disclosure rule as a document: shown, hidden, learned, and a release beside it."""

from collections.abc import Sequence

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.document.blocks import (
    CARD,
    HEADED,
    ON_JSON,
    ON_PAGE,
    READ,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
    Table,
)
from dphist.document.chart import Area, Axis, Chart, Line, Spans
from dphist.lab.rules.attack import FEW
from dphist.lab.rules.counts import UNBOUNDED
from dphist.lab.rules.disclosure_rule import DisclosureRule, write_span
from dphist.lab.rules.result import Outcome, RuleResult
from dphist.parameters import decimal_text
from dphist.visible import harmless

_MOST = 60  # counts that are drawn
_THIN = 0.12  # half the height of an interval of one number, which would not be seen


def draw_learned(result: RuleResult) -> Chart | None:
    """Declare the intervals of suppressed counts, narrow ones first; None if there are none."""
    held, learned = result.published, result.attacked.cells
    places = np.flatnonzero(held.suppressed & (learned.high < UNBOUNDED))
    if not len(places):
        return None
    width = learned.high - learned.low
    order = places[np.lexsort((learned.low[places], width[places]))][:_MOST]
    low, high, x = learned.low[order], learned.high[order], np.arange(1, len(order) + 1)
    starts: FloatArray = low.astype(np.float64) - _THIN
    ends: FloatArray = high.astype(np.float64) + _THIN
    top = held.rule.suppress_below - 1
    lines, areas = [], []
    if held.counts.is_known[order].all():
        lines = [Line("the count", x, held.counts.low[order], "dots")]
    if not held.rule.complementary and held.rule.suppress_below:
        sides = np.array([0.5, len(order) + 0.5])
        corners = np.array([0.0, 0.0, top, top])
        areas = [Area("what the rule says", np.concatenate([sides, sides[::-1]]), corners)]
    return Chart(
        "learned",
        "What a reader learns of suppressed counts",
        "Each line is a suppressed count: it reaches from the smallest to the largest number that "
        "agrees with everything published. A short one is a count that follows.",
        Axis("suppressed counts, those that follow exactly first", 0.5, len(order) + 0.5),
        Axis("count (records)", -0.5, max(float(high.max()), top) + 0.5, whole=True),
        areas,
        lines,
        spans=[Spans("what a reader learns", x, starts, ends, "y")],
    )


_ROWS = 200  # of the cells that a page lists
_LONGEST = 60  # letters of a value
NOTICE = (
    "It is made by looking at the table, and lists counts that the rule hides. Keep it where the "
    "table is kept."
)
_HOW = (
    "For each hidden count, linear programs find the smallest and the largest whole number that "
    "agree with everything published: what the rule writes, the margins, and other tables. What is "
    "listed here, a reader can compute. A reader who knows more, such as one of the persons "
    "counted, or how further cells were chosen, can compute more."
)
_SHARED = (
    "A release is a table with random noise, large enough that no reader, whatever else they know, "
    "can tell from it whether one person is in the table, up to what ε and δ say. Intervals come "
    "from the law of the noise."
)


def make_document(result: RuleResult) -> Document:
    """Return what is to be said of a rule and a table."""
    held = result.published
    counts = held.counts
    said = result.suppressed if result.suppressed.counts else result.rounded
    hidden = "Suppressed" if result.suppressed.counts else "Rounded"
    glance = [
        Fact("Cells", f"{counts.size:,}"),
        Fact(hidden, f"{said.counts:,}"),
        Fact("Follow exactly", f"{said.follow:,}"),
    ]
    facts = [
        Fact("Table", f"{counts.size:,} cells by {', '.join(map(_name, counts.keys))}"),
        Fact("Rule", say_rule(held.rule)),
        Fact("Also published", _say_known(result)),
    ]
    return Document(
        kind="rule",
        title="A disclosure rule, tested",
        made="on the table it is to protect",
        version=result.version,
        headline="tested",
        result=say_result(result),
        sections=[
            Section("tested", "What is tested", facts),
            Section("beside", "Side by side", _compare(result), wide=True),
            Section("learned", "What a reader learns", _tell_learned(result), wide=True),
            Section("cells", "Hidden counts that a reader learns most of", _list_cells(result)),
            Section("programs", "", _for_programs(result), on=ON_JSON),
        ],
        warnings=[f"Not private. {NOTICE}"],
        glance=[Section("counts", "", glance)],
        about="Rule",
        kicker="Test of a disclosure rule",
        closing=f"Not private. {NOTICE}",
    )


def say_rule(rule: DisclosureRule) -> str:
    """Say what a rule does.

    >>> say_rule(DisclosureRule(10, 5, below_is=0))
    'counts below 10 are written as 0; others are rounded to the nearest 5'
    """
    said = []
    if rule.suppress_below:
        small = f"counts {'of 1 to' if rule.show_zeros else 'below'} "
        small += f"{rule.suppress_below - rule.show_zeros:,}"
        done = "are suppressed" if rule.below_is is None else f"are written as {rule.below_is:,}"
        said.append(f"{small} {done}")
    if rule.complementary:
        said.append("where a row or column has one such cell, its smallest other cell is, too")
    if rule.round_to > 1:
        which = "others" if said else "counts"
        said.append(f"{which} are rounded to the nearest {rule.round_to:,}")
    return "; ".join(said)


def say_result(result: RuleResult) -> str:
    """Say in a sentence what a reader learns."""
    said = result.suppressed
    if not said.counts:
        rounded = result.rounded
        if not rounded.counts:
            return "The rule hides nothing in this table."
        return (
            f"Of {_say_count(rounded.counts, 'rounded count')}, {_follow(rounded.follow)} exactly."
        )
    more = f", and {said.few:,} more can be two or three numbers only" if said.few else ""
    return (
        f"Of {_say_count(said.counts, 'suppressed count')}, {_follow(said.follow)} exactly from "
        f"what is published{more}."
    )


def _follow(number: int) -> str:
    return f"{number:,} follow{'s' if number == 1 else ''}"


def _say_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _name(name: str) -> str:
    return harmless(name, _LONGEST)


def _say_known(result: RuleResult) -> str:
    lines, below = result.published.lines, result.published.rule.suppress_below
    said = ["no margin"]
    if lines:
        small = sum(line.high < below for line in lines)
        said = [f"{_say_count(len(lines), 'margin')}, exactly"]
        said += [f"{small:,} of them below {below:,}"] if small else []
    if result.before is not None:
        said.append("a table of a part of the same records (before)")
    if result.also is not None:
        keys = ", ".join(map(_name, result.also.counts.keys))
        said.append(f"a table of the same records by {keys} (also)")
    return "; ".join(said)


def _compare(result: RuleResult) -> list[Note | Table]:
    """Return the rule and a release side by side."""
    held, instead, said = result.published, result.instead, result.suppressed
    size, lines = held.counts.size, sum(line.is_exact for line in held.lines)
    shown = size - said.counts + (0 if held.rule.below_is is None else int(held.primary.sum()))
    error = result.largest_error
    off = "none" if error == 0 else f"up to {error:,}" if error else "none is shown"
    rows = {
        "cells shown": [f"{shown:,} of {size:,}"],
        "error of a shown count": [off],
        "adds up": [_say_sums(result.lines_off, lines)],
        "suppressed counts that follow exactly": [f"{said.follow:,} of {said.counts:,}"],
        "that are one of 2 or 3 numbers": [f"{said.few:,} of {said.counts:,}"],
    }
    changes = result.changes
    if changes is not None:
        rows["small changes that follow exactly"] = [f"{changes.follow:,} of {changes.counts:,}"]
    rows["a further table"] = ["is one more thing to compute with"]
    columns = {"": list(rows), "the rule": [each[0] for each in rows.values()]}
    if instead is not None:
        delta = f", δ = {decimal_text(instead.delta)}" if instead.delta else ""
        none = "none: no count is certain"
        released = [
            f"{instead.size:,} of {instead.size:,}{', empty ones too' * (instead.size > size)}",
            f"± {int(np.ceil(instead.half_width)):,} (95 %)",
            "yes",
            *[none] * (len(rows) - 4),
            "costs ε again; a ledger adds it up",
        ]
        columns[f"a release, ε = {decimal_text(instead.epsilon)}{delta}"] = released
    table = Table([Column(name, cells) for name, cells in columns.items()], on=READ, whole=True)
    return [table, *([Note(_SHARED, "aside", on=ON_PAGE)] if instead is not None else [])]


def _say_sums(off: int, lines: int) -> str:
    if not lines:
        return "no margin is published"
    return f"{off:,} of {_say_count(lines, 'margin')} do not" if off else "yes"


def _tell_learned(result: RuleResult) -> list[Block]:
    """Return how many counts a reader learns how much of."""
    sorts = {"suppressed": result.suppressed, "rounded": result.rounded}
    if result.changes is not None:
        below = result.smallest_shown
        sorts[f"changes of 1 to {below - 1:,}"] = result.changes
    names = [
        "follow exactly",
        f"one of 2 or {FEW} numbers",
        "narrower than the rule says",
        "no more than the rule says",
    ]
    columns = [Column("a reader learns", names)]
    columns += [
        Column(sort, _list_numbers(outcome)) for sort, outcome in sorts.items() if outcome.counts
    ]
    blocks: list[Block] = [Note(_HOW, "aside", on=ON_PAGE)]
    if len(columns) > 1:
        blocks.append(Table(columns, on=HEADED))
    chart = draw_learned(result)
    if chart is not None:
        blocks.append(Figures([chart]))
    if result.attacked.open:
        blocks.append(
            Note(
                f"The time ended before all programs were solved: of {result.attacked.open:,} "
                "counts, a reader with more time may learn more."
            )
        )
    return blocks


def _list_numbers(outcome: Outcome) -> IntArray:
    return np.array([outcome.follow, outcome.few, outcome.narrower, outcome.unaffected], np.int64)


def _list_cells(result: RuleResult) -> Sequence[Note | Table]:
    """Return the hidden counts, those that follow exactly first."""
    held, learned = result.published, result.attacked.cells
    width = learned.high - learned.low
    told = result.hidden & (width < held.high - held.low)
    places = np.flatnonzero(told)
    order = places[np.lexsort((places, ~held.suppressed[places], width[places]))]
    first, counts, texts = order[:_ROWS].tolist(), held.counts, held.texts
    said = result.write_learned_texts()
    columns = [
        Column(_name(name), [_name(counts.cells[place][axis]) for place in first])
        for axis, name in enumerate(counts.keys)
    ]
    low, high = counts.low.tolist(), counts.high.tolist()
    numbers = [write_span(low[place], high[place]) for place in first]
    columns.append(Column("count", numbers, digits=True))
    columns.append(Column("written", [texts[place] for place in first], digits=True))
    columns.append(Column("a reader learns", [said[place] for place in first], digits=True))
    if result.instead is not None:
        drawn = [f"{round(result.instead.counts[place]):,}" for place in first]
        columns.append(Column("a release", drawn, digits=True))
    empty = "A reader learns no more of any hidden count than the rule says."
    caption = ("Hidden counts, those that follow exactly first", "", "")
    return [Table(columns, caption, empty, on=READ - {CARD}, total=len(order))]


def _for_programs(result: RuleResult) -> list[Fact]:
    held, instead, rule = result.published, result.instead, result.published.rule
    values = {
        "private": False,
        "rule": {name: getattr(rule, name) for name in rule.__dataclass_fields__},
        "cells": held.counts.size,
        "margins": len(held.lines),
        "margins_off": result.lines_off,
        "largest_error": result.largest_error,
        "suppressed": _make_content(result.suppressed),
        "rounded": _make_content(result.rounded),
        "changes": None if result.changes is None else _make_content(result.changes),
        "open": result.attacked.open,
        "programs": result.attacked.programs,
        "release": None
        if instead is None
        else {
            "epsilon": float(instead.epsilon),
            "delta": float(instead.delta or 0),
            "max_rows": instead.max_rows,
            "cells": instead.size,
            "half_width": instead.half_width,
        },
        "rows": result.to_arrow().to_pylist(),
    }
    return [Fact("", "", name, value, NoError(""), on=ON_JSON) for name, value in values.items()]


def _make_content(outcome: Outcome) -> dict[str, int]:
    names = ("counts", "follow", "few", "narrower", "unaffected")
    return {name: getattr(outcome, name) for name in names}
