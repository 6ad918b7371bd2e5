"""What is said of tables by several keys, in sentences with slots for the owner's words."""

from collections.abc import Sequence

from dphist.document.blocks import PlusMinus, number_text
from dphist.document.small_counts import is_below, write_below
from dphist.document.unit_words import Counted, neighbors_in_words
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.sentence import Sentence, join_sentences, many
from dphist.tables.discovery import LabelSearch
from dphist.tables.impossible import Impossible
from dphist.tables.keys import Key, Keys, Names
from dphist.tables.known import Known
from dphist.tables.mechanism import Tables
from dphist.tables.widths import NORMAL, Reach
from dphist.visible import harmless

TITLE = Sentence("{Records} by several keys")
MARK = " (impossible)"
FILE = "with 95 % intervals"
WHOLE_FILE = "in whole numbers that add up: biased, without intervals"
LIKELY = 0.95
"""The probability with which a value is found, for the number of records that pages name."""
_SHOWN, _LETTERS = 8, 40  # values of a key that are named, and letters of one

LIMITS = [
    (
        "The parameter keys.",
        "Keys and their values are published, and must be fixed without looking at the data. If "
        "they were taken from the data, the guarantee does not cover what they reveal, and nothing "
        "here shows it.",
    ),
]
LIMITS_OF_FOUND = [
    (
        "The parameter keys.",
        "Names of keys and listed values are published, and must be fixed without looking at the "
        "data, and so must how values are found. If any of it was taken from the data, the "
        "guarantee does not cover what it reveals, and nothing here shows it. It covers the values "
        "that were found.",
    ),
]
KNOWN_LIMIT = (
    "Known numbers.",
    Sentence(
        "Some numbers were given as public, and not measured. The guarantee does not cover what "
        "they reveal: it protects neighbors that agree in these numbers."
    ),
)
NEIGHBORS = Sentence(
    "D and D′ are neighbors if adding or removing one {record} turns one into the other. Moving "
    "{a_record} to another cell removes one and adds one: it costs what is stated for one that is "
    "exchanged."
)


def say_neighbors(mechanism: Tables, unit: PrivacyUnit) -> Sentence:
    """State which data are neighbors where rows of a unit differ on a key."""
    whole = neighbors_in_words(mechanism.max_rows, unit)
    own = "For each value of {name} one {record} of each counts at most."
    return join_sentences([whole, Sentence(own, name=mechanism.one_row_per)])


def half_of_interval(reach: Reach) -> str:
    """Say what ± stands for; an interval of geometric noise is wider than of normal noise.

    >>> half_of_interval(NORMAL)
    '± stands for half of a 95 % interval, 1.96 standard errors'
    """
    return f"± stands for half of a 95 % interval, {reach.of(0.95):.2f} standard errors"


def say_errors(reach: Reach) -> Sentence:
    """Say what the errors of estimates mean."""
    return Sentence(
        f"{half_of_interval(reach)}. An interval holds the true number in about 95 % of releases, "
        "for each number by itself. The mechanism alone determines the error. Estimates are "
        "unbiased: they are not whole, and may be negative where there are few {records}; cut off "
        "at 0 they would add up to too much. The tables add up to each other."
    )


def name_table(names: Names) -> str:
    """Name a table by its keys.

    >>> name_table(("region", "sex", "age"))
    'region, sex and age'
    """
    if not names:
        return "no key"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def make_title(keys: Sequence[str]) -> Sentence:
    """Return the heading: what is counted, by which keys."""
    if not keys:
        return Sentence("Number of {records}")
    return Sentence("{Records} by {names}", names=name_table(tuple(keys)))


def describe_key(key: Key) -> str:
    """Say which values a key has.

    >>> from dphist.tables.discover_keys import DiscoverKeys
    >>> describe_key(Key("drug", other=True, discover=DiscoverKeys(share=".3")))
    'values found in the data, at most 1,000, and other'
    >>> describe_key(Key("hour", (0, 1, 2))), describe_key(Key("sex", ("f", "m"), other=True))
    ('3 values: 0, 1, 2', '3 values: f, m, other')
    """
    if key.discover is not None:
        return f"values found in the data, at most {key.discover.max_found:,}, and other"
    if key.axis is not None:
        return f"{key.axis.in_words}{', and other' if key.other else ''}"
    labels = [harmless(str(label), _LETTERS) for label in key.labels]
    shown = ", ".join(labels[:_SHOWN]) + (", ..." if len(labels) > _SHOWN else "")
    return f"{len(labels):,} value{'s'[: len(labels) > 1]}: {shown}"


def describe_keys(keys: Keys) -> str:
    """Say which keys there are, with their values."""
    return "; ".join(f"{key.name} ({describe_key(key)})" for key in keys)


def describe_public_keys(keys: Keys) -> str:
    """Say which values of keys are public: not those that are found, but how many at most.

    >>> from dphist.tables.discover_keys import DiscoverKeys
    >>> found = DiscoverKeys(share=".3", max_found=9)
    >>> describe_public_keys(Keys.read({"drug": found, "sex": ["f", "m"]}))
    'drug (that values are found, at most 9); sex (2 values: f, m)'
    """
    return "; ".join(
        f"{key.name} ({describe_key(key)})"
        if key.discover is None
        else f"{key.name} (that values are found, at most {key.discover.max_found:,})"
        for key in keys
    )


def list_search(search: LabelSearch) -> dict[str, float]:
    """Return what programs read of how values are found."""
    return {
        "threshold": float(search.threshold),
        "noise_scale": float(search.sigma),
        "found_from": search.likely_count(LIKELY),
        "max_found": search.max_found,
    }


def say_search(search: LabelSearch) -> Sentence:
    """Say which values of a key are found."""
    return Sentence(
        "those with a noisy number of {records} above {threshold}; with a probability of 95 % one "
        "is found from {number:,} {records} on",
        threshold=plain(up(search.threshold, 5)),
        number=search.likely_count(LIKELY),
    )


def say_found(values: int, search: LabelSearch) -> Sentence:
    """Say which values of a key were found, beside their number."""
    most = "; the most that were asked for" if values == search.max_found else ""
    return Sentence("{rule}" + most + "; all other {records} are other", rule=say_search(search))


def say_threshold(names: Sequence[str]) -> Sentence:
    """Say that values of keys are found by a threshold."""
    form = (
        "Of {names}, the values that have a noisy number of {records} above a threshold are "
        "released, and no others."
    )
    return Sentence(form, names=name_table(tuple(names)))


def say_rows(mechanism: Tables) -> Sentence:
    """Say what rows of a unit cost that differ on a key."""
    if mechanism.max_rows == 1:
        return Sentence("at most, of one protected unit")
    if mechanism.one_row_per is None:
        return Sentence(
            "at most, of one protected unit, and no more than {most:,} in all. The mechanism has "
            "noise for {records} that may be alike",
            most=mechanism.max_rows,
        )
    return Sentence(
        "at most, of one protected unit, and {most:,} in all. Together they cost about {times} "
        "times what one does, and {records} that may be alike {square:,} times",
        most=mechanism.max_rows,
        times=f"{float(mechanism.rows_cost):,.4g}",
        square=mechanism.max_rows**2,
    )


def say_dropped(mechanism: Tables) -> Sentence:
    """Say which keys are in no table, as they have one value; empty if all have several."""
    if not mechanism.dropped:
        return Sentence("")
    form = "{names} have one value each, which every {record} has: no noise was spent on them."
    if len(mechanism.dropped) == 1:
        form = "{names} has one value, which every {record} has: no noise was spent on it."
    return Sentence(form, names=name_table(mechanism.dropped))


def count_marked(impossible: Impossible, tables: Sequence[Names]) -> int:
    """Return how many cells of tables are impossible.

    >>> keys = Keys.read({"sex": ["f", "m"], "ward": [1, 2], "age": [1, 2, 3]})
    >>> found = Impossible.read([{"sex": "m", "ward": 1}], keys)
    >>> count_marked(found, [("sex", "ward", "age"), ("age",)]), count_marked(found, [("age",)])
    (3, 0)
    """
    places = [tuple(map(impossible.keys.names.index, names)) for names in tables]
    return sum(int(impossible.mark(table).sum()) for table in places)


def say_impossible(impossible: Impossible, cells: int) -> Sentence:
    """Say which combinations are impossible, and what that means for the numbers of these cells."""
    form = (
        "as the publisher says, without looking at data, that no {record} can have {combinations}. "
        "Unbiased numbers of these cells are marked, and not changed; whole numbers are 0 there."
    )
    if not cells:
        form = (
            "though the publisher says, without looking at data, that no {record} can have "
            "{combinations}: the tables do not show these together."
        )
    return Sentence(form, combinations=list_impossible(impossible))


def list_impossible(impossible: Impossible) -> str:
    """Return the first combinations.

    >>> from dphist.data.axis.axis import Axis
    >>> keys = Keys.read({"sex": ["f", "m"], "age": Axis.from_edges([0, 12, 50, 120])})
    >>> list_impossible(Impossible.read([{"sex": "f", "age": [(0, 12), (50, 120)]}], keys))
    'sex=f, age=0 to 12 or 50 to 120'
    """
    texts = impossible.texts()
    shown = [harmless(text, 4 * _LETTERS) for text in texts[:_SHOWN]]
    if len(texts) > _SHOWN:
        shown.append(f"and {len(texts) - _SHOWN:,} more")
    return "; ".join(shown)


def name_known(known: Known) -> Sentence:
    """Name the margins that were given.

    >>> keys = Keys.read({"sex": ["f", "m"], "age": [1, 2, 3]})
    >>> name_known(Known.read({"sex": [4, 5]}, keys, lambda names: names))
    'the number of records by sex'
    """
    shown = [f"by {name_table(names)}" if names else "in all" for names in known.names[:_SHOWN]]
    if len(known.names) > _SHOWN:
        shown.append(f"and {len(known.names) - _SHOWN:,} more")
    return Sentence("the number of {records} {names}", names="; ".join(shown))


def say_known(known: Known) -> Sentence:
    """Say that margins were not measured, and which neighbors remain protected."""
    form = (
        "given by the publisher as public, and not measured: these numbers are exact, and have no "
        "noise. The guarantee covers what was measured, and not these numbers. Protected are "
        "neighbors that agree in these numbers"
    )
    if known.names == [()]:
        form += ": exchanging one {record} for another leaves the number of all as it is"
    return Sentence(form + ".")


def write_number(number: float, below: int | None, *, impossible: bool = False) -> str:
    """Return an estimate as text, with a word if its cell is impossible.

    Parameters
    ----------
    below : a smaller estimate is not shown; None to show all.

    >>> write_number(1234.5, None), write_number(-3.25, None, impossible=True)
    ('1,234.5', '-3.2 (impossible)')
    >>> write_number(9.5, 10)
    '<10'
    """
    text = write_below(below) if below is not None and number < below else number_text(number)
    return f"{text}{MARK if impossible else ''}"


def say_outside(keys: Keys) -> str:
    """Say which rows were left out, as a key without "other" has no value for them.

    >>> say_outside(Keys.read({"sex": ["f", "m"], "age": [1, 2]}, ["sex"]))
    'those whose age is not listed, in no bin, or missing'
    """
    names = tuple(key.name for key in keys if not key.other)
    if not names:
        return ""
    *others, last = names
    named = f"{', '.join(others)} or {last}" if others else last
    return f"those whose {named} is not listed, in no bin, or missing"


def say_result(
    total: float,
    error: float,
    tables: Sequence[Names],
    counted: Counted,
    reach: Reach,
    below: int | None = None,
) -> Sentence:
    """Return the result in one sentence for a manager.

    Parameters
    ----------
    error : of the total, as `Reach.widen` returns it.
    below : a smaller total is not shown.
    """
    shown = [f"by {name_table(names)}" if names else "all" for names in tables[:_SHOWN]]
    if len(tables) > _SHOWN:
        shown.append(f"and {len(tables) - _SHOWN:,} more")
    number = "Fewer than {below:,}" if is_below(total, below) else "{total:,.0f} ± {error}"
    return Sentence(
        number + " {records}{after}, in {number}: {names}. {half}.",
        below=below,
        total=total,
        error=PlusMinus.of(error).number,
        after=counted.after,
        number="one table" if len(tables) == 1 else f"{len(tables)} tables that add up",
        names="; ".join(shown),
        half=half_of_interval(reach),
    )


def say_error(error: float) -> str:
    """Say the error of each cell of a table.

    >>> say_error(10)
    '± 20'
    """
    return f"± {PlusMinus.of(error).number}"


def say_cells(cells: int, least: float, most: float, *, unequal: bool = False) -> str:
    """Say how many numbers there are, and the smallest and the largest error.

    Parameters
    ----------
    unequal : whether cells of one table have different errors, of which these are the largest.

    >>> say_cells(1200, 10, 10), say_cells(12, 10, 20)
    ('with 1,200 cells, each ± 20 (95 %)', 'with 12 cells, each ± 20 to ± 40 (95 %)')
    """
    if unequal:
        return f"with {many(cells, 'cell')}, each at most {say_error(most)} (95 %)"
    errors = dict.fromkeys(map(say_error, (least, most)))
    return f"with {many(cells, 'cell')}, each {' to '.join(errors)} (95 %)"


def say_expected(names: Names, error: float, reach: Reach | None = NORMAL) -> str:
    """Say which table it is, and the error to expect of its cells.

    Parameters
    ----------
    error : a standard error.
    reach : how many of these an interval reaches; None if `error` is the largest there may be.

    >>> say_expected(("sex", "age"), 10)
    'by sex and age: each cell ± 20 (95 %), standard error 10'
    >>> say_expected(("sex", "drug"), 10, None)
    'by sex and drug: each cell at most ± 20 (95 %)'
    """
    called = f"by {name_table(names)}" if names else "number of all"
    if reach is None:
        return f"{called}: each cell at most {say_error(NORMAL.widen(error))} (95 %)"
    half = say_error(reach.widen(error))
    return f"{called}: each cell {half} (95 %), standard error {plain(up(error, 4))}"


def say_ranges(mechanism: Tables, *, known: bool) -> Sentence:
    """Say which keys are read in ranges, and the mean error of these unless margins are known."""
    if known:
        return Sentence(
            "of {names}: cells have different errors, which tables state for each.",
            names=name_table(mechanism.by_level),
        )
    errors = mechanism.errors_of_ranges()
    shown = dict.fromkeys(map(say_error, (min(errors.values()), max(errors.values()))))
    return Sentence(
        "of {names}: {errors} (95 %), by the root of the mean square over all ranges. Cells "
        "have different errors, which tables state for each.",
        names=name_table(mechanism.by_level),
        errors=" to ".join(shown),
    )


def make_caption(
    names: Names, error: float, together: float | None = None, *, unequal: bool = False
) -> Sentence:
    """Return the caption of a table, with the error that all of its cells have.

    Parameters
    ----------
    together : the error of sums over a key, if the table shows these.
    unequal : whether cells have different errors, of which `error` is the largest.
    """
    if not error:
        by = name_table(names)
        return Sentence("{Records} by {names}; known, and not measured", names=by)
    if not names:
        return Sentence("All {records}; {error} (95 %)", error=say_error(error))
    shown = {"names": name_table(names), "error": say_error(error)}
    if unequal:
        most = max(error, together or 0.0)
        shown["error"] = say_error(most)
        return Sentence("{Records} by {names}; each number at most {error} (95 %)", **shown)
    if together is None or say_error(together) == say_error(error):
        return Sentence("{Records} by {names}; each number {error} (95 %)", **shown)
    return Sentence(
        "{Records} by {names}; each number {error}, and those together {together} (95 %)",
        **shown,
        together=say_error(together),
    )


def caption_of_first(caption: Sentence, shown: int, rows: int) -> Sentence:
    """Return the caption of a table of which a page shows the first rows."""
    form = "{caption}; the first {shown:,} of {rows:,} rows, of which the CSV has all"
    return Sentence(form, caption=caption, shown=shown, rows=rows)
