"""What is said of anonymized histograms, in sentences with slots for the owner's words."""

from functools import lru_cache
from typing import Any

from dphist.anonymized.band import ALL_LABELS, Band
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.data.diagram import Diagram
from dphist.document.blocks import Between, Error, NoError, PlusMinus
from dphist.document.guarantee_words import error_in_short, error_in_words, share_in_words
from dphist.document.unit_words import Counted
from dphist.errors import ParameterError
from dphist.privacy.as_text import percent
from dphist.release.release import Release
from dphist.sentence import Sentence, join_sentences, many

TITLE = Sentence("How many {labels} occur how often")
LOGARITHMIC = (
    "All axes are logarithmic. Where the band opens to the bottom edge, the true value may be zero."
)
NO_LABEL = Sentence("No {label} was released: the table is empty.")
_TOO_LARGE = "the total is too large to try the mechanism on"


@lru_cache(maxsize=16)  # a mechanism is tried up to 32 times
def _try_out(mechanism: Any, total: int) -> float:
    return float(mechanism.expected_error(total))


def count_records(release: Release) -> int:
    """Return the number of records: the private estimate, or those of the released histogram."""
    return int(release.value.total if release.total is None else release.total)


def error_of_records(release: Release, band: Band) -> Error:
    """Return the error of `count_records`."""
    if release.total is None:
        return Between(band.lower.total, band.upper.total)
    error, mechanism = None, release.mechanism
    if isinstance(mechanism, AnonymizedMechanism):
        error = mechanism.standard_error_of_total(release)
    if error is None:
        return NoError("the mechanism states no error of it")
    return PlusMinus.of(error)


def describe_result(release: Release, band: Band) -> Sentence:
    """Return the result in one sentence for a manager."""
    value, error = release.value, error_of_records(release, band)
    brackets = Sentence(
        "In brackets stand 95 % intervals{covered}{sign}.",
        covered=describe_covered(band),
        sign=", and ± stands for half of one" if isinstance(error, PlusMinus) else "",
    )
    records = Sentence(
        "{number:,} {error} {records}",
        number=count_records(release),
        error=f"± {error.number}" if isinstance(error, PlusMinus) else f"({error})",
        records=Sentence("{record}" if count_records(release) == 1 else "{records}"),
    )
    if value.labels == 0:
        stands = Sentence("The released histogram is empty: no {label} stands out from the noise.")
        other = Sentence("By a separate estimate there are {number}.", number=records)
        return join_sentences((stands, other if release.total else ""))
    largest, smallest = int(value.counts[-1]), int(value.counts[0])
    labels = many(value.labels, "label")
    start = Sentence(
        "About {labels} ({between}) for {number}",
        labels=labels,
        between=Between(band.lower.labels, band.upper.labels),
        number=records,
    )
    top = Between(*(int(each.counts.max(initial=0)) for each in (band.lower, band.upper)))
    if largest == smallest:
        return Sentence(
            "{start}, {largest:,} for each ({top} for the most common). {brackets}",
            start=start,
            largest=largest,
            top=top,
            brackets=brackets,
        )
    rare = int(value.prevalences[0])
    low, high = prevalences_between(band, value)
    each = "just one" if smallest == 1 else f"about {smallest:,}"
    return Sentence(
        "{start}: the most common {label} has about {largest:,} ({top}), and {rare:,} ({between}) "
        "{have} {each}. {brackets}",
        start=start,
        largest=largest,
        top=top,
        rare=rare,
        between=Between(int(low[0]), int(high[0])),
        have="has" if rare == 1 else "have",
        each=each if rare == 1 else f"{each} each",
        brackets=brackets,
    )


def describe_covered(band: Band) -> Sentence:
    """Say what the intervals of a band cover, after the word "intervals"; empty if all labels."""
    covers = "" if band.covers == ALL_LABELS else ", which cover {covers}"
    return Sentence(covers, covers=band.covers)


def prevalences_between(band: Band, value: Diagram) -> tuple[Any, Any]:
    """Return how many labels may have each count of a histogram: two (d,) int64.

    They are those with the count or more, less those with more.
    """
    counts = value.counts
    low = band.lower.cumulative_prevalences(counts) - band.upper.cumulative_prevalences(counts + 1)
    high = band.upper.cumulative_prevalences(counts) - band.lower.cumulative_prevalences(counts + 1)
    return low.clip(0), high


def band_in_words(band: Band) -> Sentence:
    """Say what the error bands mean."""
    return Sentence(
        "With probability {level} or more, both true curves lie inside their bands everywhere at "
        "once, for every rank and for every count together; so do all 95 % intervals that follow "
        "from the bands. The bands cover {covers}. The probability is over the mechanism's noise "
        "alone; the bands were computed from the mechanism's parameters and the released values, "
        "without another look at the data.",
        level=percent(band.level),
        covers=band.covers,
    )


def bars_in_words(bars: Band) -> Sentence:
    """Say what the error bars around single points mean."""
    return Sentence(
        "The darker part shows how far off each single point is likely to be: about {level} of a "
        "curve's points lie within it. It is an estimate from the noise and from the fit of the "
        "curves, not a bound.",
        level=percent(bars.level),
    )


def describe_prediction(release: Release) -> Sentence:
    """Say what the expected error is, and how it is predicted."""
    total = "" if release.total is None else "and the private total "
    return Sentence(
        "The distance between the released and the true counts, both sorted, added over all "
        "{labels}. It is predicted from the parameters {total}by trying the mechanism on a public "
        "list that follows Zipf's law; the data are not used.",
        total=total,
    )


def error_if(guess: int, error: float) -> Sentence:
    """Say what error to expect if there are `guess` records.

    >>> error_if(10_000, 270.1)
    'about 270 records off in all (2.7 % of the total) if there are 10,000 records'
    """
    said, records = error_in_words(error, guess), many(guess, "record")
    return Sentence("{said} if there are {records}", said=said, records=records)


def predict_error(release: Release) -> tuple[str, str, str]:
    """Return the error to expect: in short, with what it is, and for a line of a terminal.

    It is predicted from parameters and the private or released total, never from data.
    """
    mechanism: Any = release.mechanism
    records = count_records(release)
    try:
        error = _try_out(mechanism, records)
    except ParameterError:  # no public list of that size is made
        return "not predicted", _TOO_LARGE, f"not predicted: {_TOO_LARGE}"
    share = f"; {share_in_words(error, records)} of the {{records}}" if error and records else ""
    added = Sentence(f"added over all {{labels}}{share}")
    return error_in_short(error), added, error_in_words(error, records)


def table_in_words(release: Release, band: Band, counted: Counted) -> Sentence:
    """Say what the table holds."""
    value = release.value
    apart = (
        ""
        if release.total is None
        else (" The private estimate of all {records} stands apart from the table.")
    )
    return Sentence(
        "Counts are of {whole}, per {label}. The released table has {rows}, one for "
        "each count that occurs, with {total} in all (95 % interval {between})." + apart,
        whole=counted.whole,
        rows="1 row" if len(value.counts) == 1 else f"{len(value.counts):,} rows",
        total=many(value.total, "record"),
        between=Between(band.lower.total, band.upper.total),
    )
