"""KIND: released labels and rankings, declared once for all that shows, writes or reads them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.label_counts import LabelCounts
from dphist.document import others
from dphist.document.blocks import (
    HEADED,
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    READ,
    Block,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
)
from dphist.document.bounding import LABELS, number_of_cut
from dphist.document.chart import Chart
from dphist.document.csv_rows import add_constants, add_interval
from dphist.document.kind import DataFacts, Disclosed, Kind, number_listed
from dphist.document.promised import Promised
from dphist.document.release import CODES, counts_section, make_document
from dphist.document.small_counts import is_below, write_below
from dphist.document.unit_words import (
    Counted,
    Number,
    nouns_of_unit,
    share_of_guess,
    threshold_text,
)
from dphist.document.weight_words import tell_weights
from dphist.labels import AutoThreshold, DiscoverLabels, bounding, words
from dphist.labels.auditing import AUDITING
from dphist.labels.charts import chart_of_all, chart_of_order, draw_charts
from dphist.labels.comparing import COMPARING
from dphist.labels.difference import compare_releases
from dphist.labels.mechanism import LEVEL, LabelsMechanism, least_shown
from dphist.labels.planning import PLANNING
from dphist.labels.sum_words import sum_columns, sums_section
from dphist.labels.total_words import columns_of_totals, numbers_of_totals, read_totals
from dphist.labels.words import noise_in_common
from dphist.privacy.as_text import float_up
from dphist.release.label_table import LabelTable
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.release.users_by_size import UsersBySize
from dphist.sentence import Sentence, join_sentences


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of released labels, or of those that are not released yet."""
    if not isinstance(mechanism, LabelsMechanism):
        return others.make_foreign_document(KIND, mechanism, data, release)
    unit, counted = bounding.find_unit(data), bounding.describe_counted(mechanism, data)
    if release is not None:
        counted = bounding.find_counted(release)
    guess = Number(data.guesses[0] if data.guesses else None, nouns_of_unit(unit)[1])
    results, numbers, result = [], list[Section](), ""
    if release is None:
        results = [
            _make_expected_section(mechanism, data, counted),
            _what_is_counted(mechanism, counted, ""),
        ]
        results += sums_section(mechanism, data)
    else:
        found = partial(_results, release, counted, data.below)
        results = [
            _what_is_counted(
                mechanism,
                counted,
                bounding.bounding_cost(release),
                bounding.facts_of_bounding(release),
            ),
            Section("histogram", "Results", found, READ, wide=True),
            *sums_section(
                bounding.find_mechanism(release), data, release.value, read_totals(release)
            ),
        ]
        numbers = [Section("numbers", "", _numbers(release, counted, data.below))]
        result = words.describe_result(release, data.below)
    return make_document(
        KIND.name,
        words.make_title(mechanism),
        Promised(
            mechanism,
            data,
            release,
            bounding.describe_neighbors(mechanism, unit),
            guess if release is None else bounding.count_users(release),
            unit.single,
        ),
        results,
        numbers=numbers,
        result=result,
        terms=_terms(mechanism, data),
        limits=words.describe_limits(mechanism, data),
        made_by=_sums(mechanism),
        noise_on=HEADED,
        reading="release.value.to_pandas()  # or .to_polars(), .to_arrow()",
        unit=data.unit,
    )


def _terms(mechanism: LabelsMechanism, data: DataFacts) -> list[Block]:
    """Return the guarantee that adds up over releases, and how contributions are bounded."""
    own, adds_up = str(mechanism.guarantee), "for adding up several releases"
    on = HEADED | ON_JSON
    return [
        Fact("In zCDP", own, "zcdp", own, note=adds_up, on=on),
        Fact("Bounds", bounding.bounding_in_words(mechanism, data), on=HEADED),
        *tell_weights(mechanism.step, data.bounds.get("weights")),
    ]


def _make_expected_section(
    mechanism: LabelsMechanism, data: DataFacts, counted: Counted
) -> Section:
    """Return which labels are likely to be released, and the error of their counts."""
    if isinstance(mechanism, AutoThreshold):
        return _make_section_by_cap(mechanism)
    likely, threshold = words.appearances(mechanism), mechanism.threshold
    several, said = nouns_of_unit(bounding.find_unit(data))[1], list[str]()
    for chance, count in likely.items():
        said.append(words.appearance_in_words(mechanism, chance, count))
        said += [
            share_of_guess(math.floor(count), guess, several, ", if each adds 1")
            for guess in data.guesses
            if mechanism.step is None
        ]
    for_programs: dict[str, Any] = {
        "noise": mechanism.noise,
        "threshold": None if threshold is None else float_up(threshold),
        "threshold_above": words.threshold_base(mechanism),
        "released_with_chance": {f"{chance:g}": count for chance, count in likely.items()},
    }
    for guess in data.guesses:
        for_programs["shares"] = {f"{chance:g}": n / guess for chance, n in likely.items()}
    exact = NoError("a parameter, known exactly")
    blocks = [
        *_threshold(mechanism),
        *([Fact("Likely", join_sentences(said))] if said else []),
        *_error(mechanism, counted),
        *(Fact("", "", key, value, exact, on=ON_JSON) for key, value in for_programs.items()),
    ]
    return Section("results", "Results", blocks)


def _make_section_by_cap(mechanism: AutoThreshold) -> Section:
    """Return threshold and error by the number of labels that may be found."""
    shown = [cap for cap in (1, 3, 10, 30, 100, 300) if cap in mechanism.caps]
    made = {cap: mechanism.at(cap) for cap in shown}
    said = [words.describe_cap_choice(mechanism)]
    said += [words.cap_in_words(cap, each) for cap, each in made.items()]
    by_cap = {
        str(cap): {
            "threshold": float_up(each.threshold or 0),
            "half_width": each.half_width(),
            "released_with_95": each.likely_count(LEVEL),
        }
        for cap, each in made.items()
    }
    exact = NoError("a parameter, known exactly")
    blocks = [
        Fact("Found", join_sentences(said)),
        Fact("", "", "by_cap", by_cap, exact, on=ON_JSON),
    ]
    return Section("results", "Results", blocks)


def _describe_choice(release: Release) -> list[Fact]:
    """Return the cap that was found, what it cuts, and what was expected of the others."""
    mechanism = release.mechanism
    if not isinstance(mechanism, AutoThreshold):
        return []
    unit = bounding.find_unit(DataFacts.of(release))
    tried = [
        {
            "max_labels": each.max_labels,
            "error": float(f"{each.error:.4g}"),
            "share_cut": [
                round(share, 4)
                for share in (each.share_cut.value, each.share_cut.low, each.share_cut.high)
            ],
        }
        for each in mechanism.tried(release)
    ]
    return [Fact("Found", words.choice_in_words(mechanism, release, unit), "tried", tried)]


def _numbers(release: Release, counted: Counted, below: int | None) -> list[Fact]:
    """Return the numbers that a reader wants to know first."""
    mechanism, users = bounding.find_mechanism(release), bounding.read_users(release)
    labels = others.number_of_labels(release.value)
    facts = [
        labels,
        *_error(mechanism, counted),
        *_describe_choice(release),
        *_threshold(mechanism),
    ]
    if users is not None:
        name = "Counts too low by" if mechanism.max_count == 1 else "Pairs dropped"
        facts += [number_of_cut(users, LABELS, name), _total(release, users, below)]
    return facts + numbers_of_totals(release)


def _total(release: Release, users: UsersBySize, below: int | None) -> Fact:
    """Return how much is counted over all labels, shown or not, and what the shown ones hold."""
    total, shown = users.total_kept(), int(release.value.counts.sum())
    name = Sentence("All {labels} together")
    if below is not None:  # what the shown ones hold may tell one that is not shown
        small = is_below(total.value, below)
        note = Sentence("pairs of {a_user} and {a_label} that count, shown or not")
        return Fact(name, write_below(below) if small else f"{total.value:,}", note=note)
    text = (
        "pairs of {a_user} and {a_label} that count, shown or not; 95 % interval {low:,} to "
        "{high:,}"
    )
    if bounding.find_mechanism(release).max_count == 1:
        text += "; the counts shown add up to {shown:,}, and about {rest:,} are not in them"
    rest = max(total.value - shown, 0)
    note = Sentence(text, low=total.low, high=total.high, shown=shown, rest=rest)
    return Fact(name, f"{total.value:,}", note=note)


def _error(mechanism: LabelsMechanism, counted: Counted) -> list[Fact]:
    """Return the error of counts; nothing of a ranking."""
    width, largest = mechanism.half_width(), mechanism.largest_error
    facts = [] if width is None else [others.error_of_counts(width, counted)]
    return facts if largest is None else [*facts, others.largest_error(largest, counted)]


def _threshold(mechanism: LabelsMechanism) -> list[Fact]:
    """Return from where on labels are released: a number on pages, a sentence on terminals."""
    base, number = (
        words.threshold_base(mechanism),
        threshold_text(mechanism.threshold),
    )
    name = "Threshold"
    if isinstance(mechanism, DiscoverLabels):
        note = Sentence(
            "{users} who have one {label} each, with noise; {a_user} with t {labels} weighs about "
            "1/√t on each"
        )
    elif base not in (None, "zero"):
        note = Sentence("{records} above {base}, which has noise too", base=base)
    else:
        name, number = "Smallest count shown", "none"
        note = Sentence("all listed {labels} are released")
        if base == "zero":
            number = f"{least_shown(mechanism):,}"
            note = Sentence("{records}, with noise; {labels} below it are missing")
    return [
        Fact(name, number, note=note, on=ON_PAGE),
        Fact("Threshold", words.threshold_in_words(mechanism), on=ON_TERMINAL),
    ]


def _sums(mechanism: LabelsMechanism) -> list[Block]:
    """Return what noise in common does to sums of counts; nothing where noise is independent."""
    noise = noise_in_common(mechanism)
    if noise is None:
        return []
    variances = {"variance": float(noise.scale) ** 2, "covariance": noise.covariance}
    said, on = words.sums_in_words(mechanism), ON_TERMINAL | ON_JSON
    return [Fact("Sums", said, "noise_of_counts", variances, on=on)]


def _what_is_counted(
    mechanism: LabelsMechanism, counted: Counted, cost: str, more: Sequence[Block] = ()
) -> Section:
    """Return what counts and intervals are of, and how much bounding took."""
    section = counts_section(counted, cost, always=True, more=more)
    return section if words.has_counts(mechanism) else replace(section, on=frozenset())


def _results(release: Release, counted: Counted, below: int | None) -> list[Block]:
    """Return the released labels with their intervals, a chart, and what these mean."""
    mechanism, value = bounding.find_mechanism(release), release.value
    first, figures, both = "The first {labels}", list[Chart](), None
    likely = words.appearances(mechanism).items()
    notes: list[str] = [
        join_sentences(
            (
                words.threshold_in_words(mechanism),
                *(words.appearance_in_words(mechanism, *each) for each in likely),
            )
        ),
        words.order_in_words(mechanism),
        CODES,
    ]
    if value.counts is not None:
        bounds: Any = release.mechanism.intervals(release)
        first, both = "The largest counts", (bounds.lower, bounds.upper)
        figures = [chart_of_all(release)] if len(value) > others.MOST_NAMED else []
        of = Sentence("Counts are of {whole}.", whole=counted.whole)
        notes.insert(0, join_sentences((words.intervals_in_words(mechanism), of)))
        notes.insert(1, bounding.most_in_words(release))
    elif not isinstance(mechanism, DiscoverLabels):
        figures = [chart_of_order(mechanism)]
    caption = others.make_caption(first)
    number = "Number" if isinstance(mechanism, DiscoverLabels) else "Rank"
    return [
        others.table_of_labels(
            value,
            both,
            caption,
            counts=counted.head(),
            number=number,
            most=_most(release),
            below=below,
        ),
        *([Figures(figures, on=ON_PAGE)] if figures else []),
        *(Note(note, "aside", on=ON_PAGE) for note in notes if note),
    ]


def _most(release: Release) -> IntArray | None:
    """Return upper bounds on counts before bounding, if the release has counts."""
    return None if release.value.counts is None else bounding.most_before_bounding(release)


def make_table(release: Release) -> pa.Table:
    """Return columns label,count,low,high, or label alone for a ranking, in the order released.

    Labels are texts; a missing one says that fewer than wanted were found. Where the release tells
    how many labels users have, what each count is at most before users were bounded follows. Then
    come sums and means, each with its interval, and the share of users with a clamped total.
    """
    value, bounds = release.value, others.find_bounds(release)
    table = pa.table({"label": pa.array(value.texts, pa.string())})
    if value.counts is None:
        return table
    table = table.append_column("count", pa.array(value.counts))
    if bounds is not None:
        table = add_interval(table, *bounds)
    most = _most(release) if isinstance(release.mechanism, LabelsMechanism) else None
    if most is not None:
        table = table.append_column("before_bounding_at_most", pa.array(most))
    for name, numbers in sum_columns(bounding.find_mechanism(release), value).items():
        table = table.append_column(name, pa.array(numbers, mask=np.isnan(numbers)))
    return add_constants(table, columns_of_totals(release))


def disclose(mechanism: LabelsMechanism, _value: Any = None) -> Disclosed:
    """Return what is disclosed of a mechanism."""
    return Disclosed(
        threshold="" if mechanism.threshold is None else words.threshold_in_words(mechanism),
        public=number_listed(getattr(mechanism, "labels", None)),
    )


def describe_value(table: LabelTable, most: int) -> Section:
    """Return what is said of labels, with up to `most` rows."""
    return Section("value", "Released labels", [others.head_of_labels(table, most)])


KIND = Kind(
    name="labels",
    title="Common labels",
    value_type=LabelTable,
    mechanism_type=LabelsMechanism,
    document=document,
    table=make_table,
    may_hide_small=True,
    charts=draw_charts,
    comparing=COMPARING,
    data_type=LabelCounts,
    accept=lambda mechanism, data: mechanism._accept(data),
    columns=lambda value: ", ".join(value.to_arrow().column_names),
    disclosed=disclose,
    of_value=describe_value,
    planning=PLANNING,
    auditing=AUDITING,
    differing=compare_releases,
)
