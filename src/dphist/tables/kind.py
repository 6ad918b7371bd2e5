"""KIND: tables by several keys, declared once for all that shows, writes or reads them."""

import math
from dataclasses import replace
from functools import partial
from itertools import islice, product, repeat

import pyarrow as pa

from dphist.arrays import BoolArray, FloatArray
from dphist.document.blocks import (
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    READ,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    Note,
    PlusMinus,
    Section,
    Table,
    number_text,
)
from dphist.document.kind import DataFacts, Disclosed, Kind
from dphist.document.promised import Promised, find_contribution
from dphist.document.release import counts_section, make_document
from dphist.document.unit_words import (
    Contribution,
    Counted,
    count_units,
    describe_counted_records,
    neighbors_in_words,
    number_guessed,
    number_shown,
)
from dphist.parameters import decimal_text
from dphist.privacy.unit import PrivacyUnit, asserted_unit
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.sentence import Sentence, many
from dphist.tables import words
from dphist.tables.auditing import AUDITING
from dphist.tables.cell_sums import list_heads
from dphist.tables.cells import label_columns, write_cell
from dphist.tables.charts import draw_charts, draw_keys, list_texts
from dphist.tables.command import COMMAND
from dphist.tables.comparing import COMPARING
from dphist.tables.difference import compare_releases
from dphist.tables.discovery import LabelSearch
from dphist.tables.downloads import make_files
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Key, Names
from dphist.tables.measuring import TablesMeasuring
from dphist.tables.mechanism import Tables
from dphist.tables.multiples import draw_multiples
from dphist.tables.parameter_facts import (
    tell_dropped,
    tell_impossible,
    tell_known,
    tell_outside,
    tell_ranges,
    tell_rows,
)
from dphist.tables.planning import PLANNING
from dphist.tables.sum_words import tell_sums
from dphist.tables.weight_words import count_weighted, tell_table_weights, weigh_words
from dphist.visible import harmless

_ROWS, _FACTS = 500, 20  # of a table that a page shows, and tables that a terminal names
_WIDE, _GAP = 96, 2  # letters of a row, and between columns, as on printed pages
_HEAD, _LABEL = 28, 40  # letters of a heading, and of a value


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of tables, or of tables that are not made yet."""
    promised = _promise(mechanism, data, release)
    limits = words.LIMITS_OF_FOUND if _searches(mechanism) else words.LIMITS
    if release is None:
        return make_document(
            KIND.name,
            weigh_words(words.TITLE, mechanism.step if isinstance(mechanism, Tables) else None),
            promised,
            [_make_expected_section(mechanism, data), *tell_sums(mechanism)],
            limits=limits,
            noise_on=frozenset(),
        )
    value, counted, below = release.value, count_weighted(release), data.below
    keys = [name for name in value.keys.names if any(name in names for names in value.tables)]
    return make_document(
        KIND.name,
        weigh_words(words.make_title(keys), value.step),
        promised,
        [
            counts_section(counted),
            Section("tables", "Results", partial(_results, release, counted, below), READ, True),
            *tell_sums(mechanism, value, below),
        ],
        numbers=[Section("numbers", "", _numbers(release, counted, below))],
        result=words.say_result(
            value.total, value.reach.widen(value.error()), value.tables, counted, value.reach, below
        ),
        limits=[*limits, *([] if value.known is None else [words.KNOWN_LIMIT])],
        noise_on=frozenset(),
        reading=_reading(value),
    )


def _promise(mechanism: Maker, data: DataFacts, release: Release | None) -> Promised:
    """Return what is promised, and to whom: to a user if rows of one differ on a key."""
    unit, protected = mechanism.guarantee.unit, find_contribution(mechanism, data)
    differing = mechanism if isinstance(mechanism, Tables) and mechanism.one_row_per else None
    if differing is not None:
        whose = asserted_unit("user") if data.unit is None else data.unit
        unit = PrivacyUnit("record", differing.max_rows)
        data, protected = replace(data, unit=whose), Contribution(unit.at_most, whose)
        neighbors = words.say_neighbors(differing, whose)
    elif unit.at_most == 1 and data.unit is None and not _searches(mechanism):
        neighbors = words.NEIGHBORS
    else:
        neighbors = neighbors_in_words(unit.at_most, data.unit)
    if release is None:
        number = number_guessed(data.guesses, unit, data.unit)
    elif differing is not None:
        number = number_shown(release, release.total or 0, unit.at_most)
    else:
        number = count_units(release)
    return Promised(mechanism, data, release, neighbors, number, protected)


def _make_expected_section(mechanism: Maker, data: DataFacts) -> Section:
    """Return the tables, and the error to expect of their cells."""
    assert isinstance(mechanism, Tables)  # noqa: S101 - a dry run is of a mechanism of ours
    errors, searches = mechanism.errors_of_cells(), _searches(mechanism)
    largest = bool(searches or mechanism.by_level)
    blocks: list[Block] = [Fact("Keys", words.describe_keys(mechanism.keys))]
    for name, search in searches.items():
        blocks.append(Fact(f"Values of {name}", words.say_search(search)))
    for names in mechanism.tables:
        error, reach = errors["+".join(names)], None if largest else mechanism.reach
        blocks.append(Fact("Table", words.say_expected(names, error, reach)))
    blocks += (
        tell_ranges(mechanism) + tell_rows(mechanism, data) + tell_table_weights(mechanism, data)
    )
    blocks += tell_dropped(mechanism) + tell_outside(mechanism, data) + tell_impossible(mechanism)
    blocks += [
        Fact("", "", "tables", ["+".join(names) for names in mechanism.tables], on=ON_JSON),
        Fact("", "", "largest_errors" if largest else "errors", errors, on=ON_JSON),
        *_facts_of_searches(searches),
    ]
    return Section("results", "Results", blocks)


def _searches(mechanism: Maker) -> dict[str, LabelSearch]:
    """Return how values of keys are found, by the names of these keys."""
    return mechanism.searches if isinstance(mechanism, Tables) else {}


def _facts_of_searches(searches: dict[str, LabelSearch]) -> list[Block]:
    """Return what programs read of how values are found."""
    if not searches:
        return []
    held = {name: words.list_search(search) for name, search in searches.items()}
    return [Fact("", "", "found_keys", held, on=ON_JSON)]


def _tell_found(release: Release) -> list[Block]:
    """Return how many values of keys were found, and which are."""
    searches = _searches(release.mechanism)
    found = {name: len(release.value.keys[name].values) for name in searches}
    shown: list[Block] = [
        Fact(
            f"Values of {name}",
            many(found[name], "value"),
            note=words.say_found(found[name], search),
        )
        for name, search in searches.items()
    ]
    return shown + _facts_of_searches(searches)


def _numbers(release: Release, counted: Counted, below: int | None) -> list[Block]:
    """Return the numbers that a reader wants to know first."""
    value = release.value
    error = PlusMinus.of(value.reach.widen(value.error()))
    of_records = Sentence("private estimate{after}", after=counted.after)
    if not value.error():
        of_records = Sentence("known, and not measured")
    errors = {"+".join(names): value.cell_error(names) for names in value.tables}
    cells = sum(math.prod(value.keys[name].size for name in names) for names in value.tables)
    least, most = (value.reach.widen(end) for end in (min(errors.values()), max(errors.values())))
    unequal = bool(value.ordered)
    note = words.say_cells(cells, least, most, unequal=unequal)
    shown = [Fact("Tables", f"{len(value.tables):,}", note=note)]
    if not unequal and words.say_error(least) != words.say_error(
        most
    ):  # pages name it above each table
        reaches = repeat(value.reach)
        expected = map(words.say_expected, value.tables, errors.values(), reaches)
        shown += [Fact("Table", said, on=ON_TERMINAL) for said in islice(expected, _FACTS)]
    return [
        Fact(
            weigh_words(Sentence("{Records}"), value.step),
            words.write_number(value.total, below),
            error=error,
            note=of_records,
        ),
        Fact("", "", "total", _total(release), error=error, on=ON_JSON),
        Fact("", "", "intervals", {"total": error.around(round(value.total))}, on=ON_JSON),
        *shown,
        Fact("", "", "keys", value.keys.to_content(), on=ON_JSON),
        Fact("", "", "tables", ["+".join(names) for names in value.tables], on=ON_JSON),
        Fact("", "", "largest_errors" if unequal else "errors", errors, on=ON_JSON),
        *_tell_found(release),
        *tell_ranges(release.mechanism, value.known is not None),
        *tell_rows(release.mechanism, DataFacts.of(release)),
        *tell_table_weights(release.mechanism, DataFacts.of(release)),
        *tell_dropped(release.mechanism),
        *tell_outside(release.mechanism, DataFacts.of(release)),
        *tell_impossible(release.mechanism),
        *tell_known(value),
    ]


def _total(release: Release) -> int | None:
    """Return the number of all records, as measured or as known."""
    known = release.value.known is not None and not release.value.error()
    return round(release.value.total) if known else release.total


def _results(release: Release, counted: Counted, below: int | None) -> list[Block]:
    """Return the charts, and all tables with their sums."""
    value = release.value
    charts = draw_keys(value, counted)
    blocks: list[Block] = [Figures(charts)] if charts else []
    blocks += draw_multiples(value, counted)
    files = make_files(value, below)
    blocks += [
        replace(_table(value, names, counted, below), files=files[names]) for names in value.tables
    ]
    blocks.append(Note(words.say_errors(value.reach), "aside", on=ON_PAGE))
    return blocks


def _table(value: KeyedTables, names: Names, counted: Counted, below: int | None) -> Table:
    """Return a table: its last key whose values fit across, with the sums over it."""
    across = next((name for name in reversed(names) if _fits_across(value, names, name)), None)
    down = tuple(name for name in names if name != across)
    labels = list(islice(product(*(_shorten(value.keys[name]) for name in down)), _ROWS))
    error, rest = _compute_shown_error(value, names), value.table(*down)
    sums = _write_cells(rest.counts.ravel()[:_ROWS], rest.impossible, below)
    unequal = not value.ordered.isdisjoint(map(value.keys.names.index, names))
    columns = [
        Column(name, [row[place] for row in labels], heads=True) for place, name in enumerate(down)
    ]
    if not down:
        columns = [Column("", ["All"])]
    if across is None:
        columns.append(Column(counted.head("{Records}"), sums, digits=True))
        caption = words.make_caption(names, error, unequal=unequal)
    else:
        held, size = value.table(*down, across), value.keys[across].size
        cells = held.counts.reshape(-1, size)[:_ROWS]
        for at, head in enumerate(list_texts(value.keys[across])):
            marks = None if held.impossible is None else held.impossible.reshape(-1, size)[:, at]
            texts = _write_cells(cells[:, at], marks, below)
            columns.append(Column(head, texts, over=across, digits=True))
        columns.append(Column("Together", sums, digits=True))
        caption = words.make_caption(
            names, error, _compute_shown_error(value, down), unequal=unequal
        )
    caption = weigh_words(caption, value.step)
    rows = math.prod(value.keys[name].size for name in down)
    first = Sentence("{caption}; the first rows", caption=caption)
    if rows > len(sums):
        caption = words.caption_of_first(caption, len(sums), rows)
    return Table(columns, (caption, first, ""), total=rows)


def _compute_shown_error(value: KeyedTables, names: Names) -> float:
    return value.reach.widen(value.cell_error(names))


def _write_cells(counts: FloatArray, marks: BoolArray | None, below: int | None) -> list[str]:
    """Return counts as texts, with a word where they are impossible."""
    marked = repeat(False) if marks is None else marks.ravel().tolist()
    return [
        words.write_number(count, below, impossible=mark)
        for count, mark in zip(counts.tolist(), marked, strict=False)
    ]


def _fits_across(value: KeyedTables, names: Names, across: str) -> bool:
    """Whether the values of a key can stand side by side, right of those of the other keys."""
    key = value.keys[across]
    if len(names) < 2 or key.size * _GAP > _WIDE:
        return False
    heads, number = [*list_texts(key), "Together"], len(number_text(value.total))
    labels = [
        max(map(len, [name, *_shorten(value.keys[name])])) for name in names if name != across
    ]
    places = tuple(sorted(map(value.keys.names.index, names)))
    if value.impossible is not None and value.impossible.mark(places).any():
        number += len(words.MARK)
    numbers = [max(number, *map(len, head.split())) for head in heads]
    wide = sum(labels) + sum(numbers) + _GAP * (len(labels) + len(numbers) - 1)
    return max(map(len, heads)) <= _HEAD and wide <= _WIDE


def _shorten(key: Key) -> list[str]:
    """Return the first values of a key, short if they can still be distinguished."""
    texts = list_texts(key, _ROWS)
    short = [harmless(text, _LABEL) for text in texts]
    return short if len(set(short)) == len(set(texts)) else texts


def _reading(value: KeyedTables) -> str:
    """Return Python that reads tables."""
    names = value.tables[0]
    asked = ", ".join(map(repr, names))
    return (
        f"tables = release.value\ntables.table({asked}).to_pandas()\n"
        "tables.total, tables.error(), tables.keys"
    )


def make_table(release: Release) -> pa.Table:
    """Return a row a cell, all tables one after the other.

    Columns are the table, by its keys, the keys, null where a table does not have one (of bins
    with _start and _stop), count, error, low and high: an estimate in records, its standard error,
    and a 95 % interval. If impossible cells were named, a column `impossible` is true or false.
    Then come sums and means.
    """
    table: pa.Table = release.value.to_arrow()
    return table


def list_columns(value: KeyedTables) -> list[str]:
    """Return the names of the columns of `KeyedTables.to_arrow`, of which no cell is computed."""
    used = [key for key in value.keys if any(key.name in names for names in value.tables)]
    labels = (column for key in used for column in label_columns(key))
    marks = () if value.impossible is None else ("impossible",)
    return ["table", *labels, "count", "error", "low", "high", *marks, *list_heads(value.summed)]


def disclose(mechanism: TablesMeasuring, value: KeyedTables | None = None) -> Disclosed:
    """Return what is disclosed: keys, tables, impossible and known values are public."""
    tables = "; ".join(words.name_table(names) if names else "all" for names in mechanism.tables)
    public = [
        Sentence(
            "The keys and their values: {keys}.", keys=words.describe_public_keys(mechanism.keys)
        ),
        Sentence("Which tables there are: {tables}.", tables=tables),
    ]
    if isinstance(mechanism, Tables) and mechanism.impossible is not None:
        listed = words.list_impossible(mechanism.impossible)
        public.append(Sentence("Which values no {record} can have: {listed}.", listed=listed))
    if isinstance(mechanism, Tables) and mechanism.sums:
        columns = ", ".join(f"{name}={clamp.to_text()}" for name, clamp in mechanism.sums)
        public.append(Sentence("Which columns are summed, and their clamps: {held}.", held=columns))
    if value is not None and value.known is not None:
        named, said = words.name_known(value.known), words.say_known(value.known)
        public.append(Sentence("{named}: {said}", named=named, said=said))
    if isinstance(mechanism, Tables) and mechanism.ranges:
        names = words.name_table(mechanism.ranges)
        public.append(Sentence("Which keys are read in ranges: {names}.", names=names))
    if isinstance(mechanism, Tables) and mechanism.one_row_per is not None:
        form = "That one {record} counts for each value of {name} of one protected unit, at most."
        public.append(Sentence(form, name=mechanism.one_row_per))
    if isinstance(mechanism, Tables) and mechanism.step is not None:
        step = decimal_text(mechanism.step)
        form = "That a row counts as its weight, in steps of {step}, and the bounds of weights."
        public.append(Sentence(form, step=step))
    searches = _searches(mechanism)
    threshold = words.say_threshold([*searches]) if searches else ""
    return Disclosed(threshold=threshold, public=public)


def describe_value(value: KeyedTables, most: int) -> Section:
    """Return what is said of tables by themselves, with up to `most` rows."""
    counted = describe_counted_records(None, 1)
    blocks: list[Block] = [Fact(f"Key {key.name}", words.describe_key(key)) for key in value.keys]
    blocks += tell_known(value)
    for names in value.tables:
        table = value.table(*names).to_arrow()
        columns = []
        for name in table.column_names:
            cells = table[name].slice(0, most).to_pylist()
            digits = name in ("count", "error", "low", "high")
            texts = [f"{cell:,.1f}" if digits else write_cell(cell) for cell in cells]
            if name == "impossible" and value.impossible is not None:
                texts = ["impossible" if cell else "" for cell in cells]
            columns.append(Column(name, texts, digits=digits))
        caption = f"By {words.name_table(names)}", f"By {words.name_table(names)}", ""
        blocks.append(Table(columns, caption, total=table.num_rows))
    charts = draw_keys(value, counted)
    if charts:
        blocks.append(Figures(charts))
    return Section("value", "Released tables", blocks)


KIND = Kind(
    name="tables",
    title=words.TITLE,
    value_type=KeyedTables,
    mechanism_type=TablesMeasuring,
    document=document,
    table=make_table,
    may_hide_small=True,
    charts=draw_charts,
    data_type=KeyedCounts,
    accept=lambda mechanism, data: mechanism.accept(data),
    refuse_other=lambda mechanism, data: mechanism.refuse_other(data),
    columns=lambda value: ", ".join(list_columns(value)),
    disclosed=disclose,
    commands={"tables": COMMAND},
    of_value=describe_value,
    planning=PLANNING,
    auditing=AUDITING,
    comparing=COMPARING,
    differing=compare_releases,
)
