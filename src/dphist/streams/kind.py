"""KIND: running counts of a stream, declared once for all that shows, writes or reads them."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.document import others
from dphist.document.blocks import (
    EVERYWHERE,
    HEADED,
    NO_BOUND,
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
from dphist.document.csv_rows import add_interval
from dphist.document.differing import UNKNOWN_BOUNDING, Differing, check_same
from dphist.document.guarantee_words import LEVEL
from dphist.document.kind import DataFacts, Disclosed, Kind, number_listed
from dphist.document.label_readings import Reading, compare_readings, list_comparable
from dphist.document.promised import Promised
from dphist.document.release import CODES, counts_section, make_counts_fact, make_document
from dphist.document.unit_words import (
    Counted,
    Number,
    most_shown,
    nouns_of_unit,
    number_shown,
    share_of_guess,
)
from dphist.privacy import PureDP
from dphist.privacy.as_text import float_up
from dphist.privacy.unit import ONE_EVENT
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.sentence import EVENTS, Sentence, join_sentences, many_events
from dphist.streams import words
from dphist.streams.auditing import AUDITING
from dphist.streams.charts import draw_chart, draw_charts
from dphist.streams.comparing import COMPARING
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.planning import PLANNING

_EXACT, _PARAMETER = NoError("known exactly"), NoError("a parameter, known exactly")
_USUAL_EVENTS = 10**6


def document(mechanism: Maker, data: DataFacts, release: Release | None = None) -> Document:
    """Return what is to be said of the readings of a stream, or of one that is not begun yet."""
    if not isinstance(mechanism, ContinualMechanism):
        return others.make_foreign_document(KIND, mechanism, data, release)
    unit = words.find_unit(mechanism, data)
    counted = words.describe_counted(mechanism, unit)
    results, numbers, result = [], list[Section](), ""
    if release is None:
        counts = Section("counts", "", [make_counts_fact(counted)])
        results = [_make_expected_section(mechanism, data, counted), counts]
    else:
        found = partial(_results, release, counted)
        results = [
            counts_section(counted, always=True),
            Section("histogram", "Results", found, READ, wide=True),
        ]
        numbers = [Section("numbers", "", _numbers(release, counted))]
        result = words.describe_result(release)
    return make_document(
        KIND.name,
        words.TITLE,
        Promised(
            mechanism,
            data,
            release,
            words.describe_neighbors(mechanism, unit),
            _guess(mechanism, data) if release is None else count_units(release),
            unit,
        ),
        results,
        numbers=numbers,
        result=result,
        terms=_terms(mechanism, data),
        limits=words.describe_limits(mechanism, unit),
        made_by=[Fact("Method", words.method_in_words(mechanism), on=HEADED)],
        noise_on=frozenset(),
        reading="counts = release.value\ncounts.latest.to_pandas(), counts.times, "
        "counts.to_pandas()  # of all readings",
        unit=None if unit == ONE_EVENT else unit,
    )


def _guess(mechanism: ContinualMechanism, data: DataFacts) -> Number:
    """Return how many units there will be: events as guessed or to the horizon, users unknown."""
    noun = nouns_of_unit(words.find_unit(mechanism, data))[1]
    if mechanism.max_events_per_user is not None:
        return Number(noun=noun)
    horizon = None if mechanism.method == "unbounded" else mechanism.horizon
    return Number(data.guesses[0] if data.guesses else horizon, noun)


def count_units(release: Release) -> Number:
    """Return how many events there are, or how many users the counts show."""
    value, mechanism = release.value, words.find_mechanism(release)
    events = release.guarantee.unit.who == "event"
    if mechanism.max_events_per_user is None:
        return number_shown(release, int(value.times[-1]), exact=events)
    counts = value.latest.counts.tolist()
    shown = most_shown(counts, mechanism.changed_labels, mechanism.max_events_per_user)
    return number_shown(release, *shown, exact=events)


def _terms(mechanism: ContinualMechanism, data: DataFacts) -> list[Block]:
    """Return what the guarantee is of, what adds up over releases, and how events are bounded."""
    own, adds_up = str(mechanism.guarantee), "for adding up several releases"
    pure = isinstance(mechanism.guarantee, PureDP)
    unit = words.find_unit(mechanism, data)
    return [
        Fact("Covered", words.coverage_in_words(mechanism)),
        *([] if pure else [Fact("In zCDP", own, note=adds_up, on=HEADED)]),
        Fact("", "", "zcdp", None if pure else own, on=ON_JSON),
        Fact("Bounds", words.bounding_in_words(mechanism, unit), on=HEADED),
    ]


def _make_expected_section(
    mechanism: ContinualMechanism, data: DataFacts, counted: Counted
) -> Section:
    """Return which labels are likely to be in a reading, and the error of their counts.

    Without a horizon errors grow with time: they are stated for the number of events that is
    guessed, or for a usual one.
    """
    guess = data.guesses[0] if data.guesses else None
    last = mechanism.find_stated_until(guess or _USUAL_EVENTS)
    threshold, width = words.find_threshold(mechanism, last), mechanism.counter.width
    kept = Sentence(
        "{width:,} numbers for each {label}: {size:,} bytes", width=width, size=8 * width
    )
    values: dict[str, Any] = {
        "method": mechanism.method,
        "horizon": mechanism.horizon,
        "threshold": None if threshold is None else float_up(threshold),
        "standard_error": words.standard_error(mechanism, last),
        "noise_bytes_per_label": 8 * width,
        "released_with_chance": {},
    }
    shares: list[Block] = []
    if threshold is not None:
        likely = mechanism.likely_count(LEVEL, last)
        values["released_with_chance"] = {"0.95": likely}
        if guess is not None:
            shares = [Fact("Share", share_of_guess(likely, guess, Sentence("{events}", **EVENTS)))]
            values["shares"] = {"0.95": likely / guess}
    blocks = [
        *_threshold(mechanism, last),
        *shares,
        *_error(mechanism, counted, last),
        Fact("Noise kept", kept),
        *(Fact("", "", key, value, _PARAMETER, on=ON_JSON) for key, value in values.items()),
    ]
    return Section("results", "Results", blocks)


def _numbers(release: Release, counted: Counted) -> list[Fact]:
    """Return the numbers that a reader wants to know first."""
    value, mechanism, last = release.value, words.find_mechanism(release), words.until(release)
    time, readings, labels = int(value.times[-1]), len(value), len(value.latest)
    read = "" if readings == 1 else Sentence("read {readings:,} times", readings=readings)
    return [
        Fact(
            Sentence("{Events}", **EVENTS),
            f"{time:,}",
            "time",
            time,
            error=NoError("public and known exactly"),
            note=join_sentences((read, words.describe_reach(mechanism)), "; "),
            on=EVERYWHERE,
        ),
        Fact("", "", "readings", readings, error=_EXACT, on=ON_JSON),
        Fact(
            Sentence("{Labels}"),
            f"{labels:,}",
            "labels",
            labels,
            error=NoError("in the last reading, known exactly"),
            on=EVERYWHERE,
        ),
        *_error(mechanism, counted, last),
        *_threshold(mechanism, last),
    ]


def _error(mechanism: ContinualMechanism, counted: Counted, last: int | None) -> list[Fact]:
    """Return the error of a count at any time, or up to the last one if errors grow."""
    until = "" if last is None else " up to {events}"
    more = Sentence(
        f", at any time{until}; standard error at most {{error}}",
        error=words.error_text(mechanism, last),
        events=many_events(last or 0),
    )
    return [others.error_of_counts(mechanism.half_width(LEVEL, last), counted, more)]


def _threshold(mechanism: ContinualMechanism, last: int | None) -> list[Fact]:
    """Return from where on labels are released: a number on pages, a sentence on terminals."""
    least, note = mechanism.least_shown(last), Sentence("all listed {labels} are in each reading")
    number = "none"
    if least is not None:
        number = f"{least:,}"
        before = "" if last is None else "; before, it was smaller"
        said = f"{{events}}, with noise; {{labels}} below it are missing{before}"
        note = Sentence(said, **EVENTS)
    return [
        Fact("Smallest count shown", number, note=note, on=ON_PAGE),
        Fact("Threshold", words.threshold_in_words(mechanism, last), on=ON_TERMINAL),
    ]


def _results(release: Release, counted: Counted) -> list[Block]:
    """Return the chart, and the labels of the last reading with their intervals."""
    value, mechanism, last = release.value, words.find_mechanism(release), words.until(release)
    latest, bounds = value.latest, mechanism.intervals(release)
    both = np.asarray(bounds.lower), np.asarray(bounds.upper)
    after = many_events(int(value.times[-1]))
    caption = (
        Sentence("The last reading, after {after}", after=after),
        Sentence("The largest counts after {after}", after=after),
        Sentence("{Labels}"),
    )
    of: list[str] = [Sentence("Counts are of {whole}.", whole=counted.whole), CODES]
    if len(value) > 1:
        of.append("The table as CSV and the release file have the earlier readings too.")
    notes = [
        words.intervals_in_words(mechanism, last),
        words.threshold_in_words(mechanism, last),
        join_sentences(of),
    ]
    empty = Sentence("No {label} was released: the last reading is empty.")
    return [
        Figures([draw_chart(release)]),
        others.table_of_labels(latest, both, caption, empty, counted.head()),
        *(Note(note, "aside", on=ON_PAGE) for note in notes),
    ]


def make_table(release: Release) -> pa.Table:
    """Return columns time,label,count,low,high of all readings; labels are texts.

    A later reading changes no row: errors that grow are stated up to the time of each reading.
    """
    value, mechanism, table = release.value, release.mechanism, release.value.to_arrow()
    texts = dict(zip(value.labels, value.label_texts, strict=True))
    labels = [texts[label] for label in table["label"].to_pylist()]
    table = table.set_column(1, "label", pa.array(labels, pa.string()))
    if not isinstance(mechanism, ContinualMechanism):  # it says nothing of earlier readings
        return table
    times, rows = np.unique(table["time"].to_numpy(), return_inverse=True)
    widths = [
        mechanism.half_width(LEVEL, mechanism.find_stated_until(time)) for time in times.tolist()
    ]
    counts, wide = table["count"].to_numpy(), np.array(widths, np.int64)[rows]
    least = -NO_BOUND if mechanism.threshold is None else 1
    ends = np.maximum(counts - wide, least), np.maximum(counts + wide, least)
    return add_interval(table, *ends)


def disclose(mechanism: ContinualMechanism, value: RunningCounts | None = None) -> Disclosed:
    """Return what is disclosed of a mechanism."""
    last = mechanism.find_stated_until(_USUAL_EVENTS if value is None else int(value.times[-1]))
    listed = mechanism.threshold is None
    times = "The number of {events}, which is not protected, and the times of readings."
    return Disclosed(
        threshold="" if listed else words.threshold_in_words(mechanism, last),
        public=[Sentence(times, **EVENTS), *number_listed(mechanism.labels)],
        cuts=True,
        continues=True,
    )


def describe_value(counts: RunningCounts, most: int) -> Section:
    """Return what is said of running counts, with up to `most` labels of the last reading."""
    table = others.head_of_labels(counts.latest, most, "The last reading")
    blocks: list[Block] = [
        Fact("Readings", f"{len(counts):,}"),
        Fact("Last reading", f"after {many_events(int(counts.times[-1]))}; the table shows it"),
        Fact("Labels in any reading", f"{len(counts.labels):,}"),
        table,
    ]
    return Section("value", "Released running counts", blocks)


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what the last readings of two releases say of the same labels."""
    readings, both = [_read(each) for each in (before, after)], (before, after)
    mechanisms = [words.find_mechanism(each) for each in both]
    check_same("max_labels", *(each.max_labels for each in mechanisms))
    check_same("max_events_per_user", *(each.max_events_per_user for each in mechanisms))
    check_same("type of labels", *(each.value.label_type for each in both))
    labels = list_comparable(*readings)
    if all(each.threshold is None for each in readings):
        tests = len(labels)
        said = Sentence("Bonferroni over all {n:,} listed {labels}", n=tests)
    else:
        tests = sum(int(each.value.times[-1]) for each in both) * mechanisms[0].max_labels
        said = Sentence(
            "Bonferroni over the {n:,} {labels} that the events read can have, shown or not; also "
            "for two readings of one stream",
            n=tests,
        )
    bounded = [each.max_events_per_user is not None for each in mechanisms]
    return compare_readings(
        readings,
        labels,
        tests=max(tests, 1),
        correction=said,
        bounding=[UNKNOWN_BOUNDING if each else "" for each in bounded],
    )


def _read(release: Release) -> Reading:
    mechanism, latest, last = (
        words.find_mechanism(release),
        release.value.latest,
        words.until(release),
    )
    texts = [str(text) for text in latest.texts]
    counts = [] if latest.counts is None else latest.counts.tolist()
    return Reading(
        dict(zip(texts, counts, strict=True)),
        lambda level: mechanism.half_width(level, last),
        mechanism.least_shown(last),
    )


KIND = Kind(
    name="streams",
    title=words.TITLE,
    value_type=RunningCounts,
    mechanism_type=ContinualMechanism,
    document=document,
    table=make_table,
    charts=draw_charts,
    comparing=COMPARING,
    columns=lambda _value: "time, label, count",
    disclosed=disclose,
    of_value=describe_value,
    planning=PLANNING,
    auditing=AUDITING,
    differing=compare_releases,
)
