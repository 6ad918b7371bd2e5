"""The properties of a population that the command and the report list, and how they are shown.

Each is estimated once; numbers have as many digits as they justify, and notes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from dphist.data.diagram import Diagram
from dphist.document.blocks import Block, Column, Fact, Note, Table
from dphist.errors import ParameterError
from dphist.parameters import Exact, decimal_text, exact_number, positive_number, whole_number
from dphist.properties import (
    Estimate,
    distance_to_uniformity,
    entropy,
    guessing,
    renyi_entropy,
    support_coverage,
    support_size,
)
from dphist.properties.estimate import (
    MOST_RECORDS,
    NORMAL,
    Source,
    get_histogram,
    name_source,
    plain_number,
)
from dphist.properties.resampling import FEWEST, MOST, RESAMPLES, can_be_run_again
from dphist.properties.support_coverage import G_MODELING, farthest
from dphist.release.release import Release
from dphist.sentence import Sentence, as_sentence, join_sentences

# The numbers of guesses that are shown, where there are more labels than that.
_GUESSES = (10, 1000, 100_000)
_EXTRA = (Fraction(1), Fraction(2))
_TOO_FAR = Sentence("unknown: too far ahead for this few {records}")

_Parameter: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Property:
    """One property and its estimate.

    Attributes
    ----------
    function : name in `dphist.properties`.
    name : what a reader calls it, without its unit.
    estimate : value, method, error, unit and notes.
    parameters : what the function was called with, exact numbers and infinity as text.
    """

    function: str
    name: str
    estimate: Estimate
    parameters: dict[str, _Parameter] = field(default_factory=dict)


def can_be_estimated(histogram: Diagram) -> bool:
    """Whether a histogram has records, and not more than the estimators can take."""
    return 0 < histogram.total < MOST_RECORDS


def estimate_properties(
    source: Source,
    *,
    labels: int | None = None,
    p_min: Exact | None = None,
    extra: Sequence[Exact] | None = None,
    base: Exact = 2,
    resamples: int = RESAMPLES,
) -> list[Property]:
    """Estimate properties of the population behind a histogram.

    Parameters
    ----------
    source : Release or AnonymizedHistogram; or Profile, and the result is then not private.
    labels : how many labels the population has, if known; the distance to uniformity needs it.
    p_min : smallest probability of a label, if known. With it, the number of labels is estimated
        and not only bounded from below.
    extra : further records to look ahead, in units of those there are; 1 and 2 by default.
        Farther ahead than the records allow, the number of new labels is NaN.
    base : of the logarithms.
    resamples : how often the mechanism of a release is run again to estimate the effect of its
        noise, 10 to 10,000 times; 0 leaves the noise out of errors and intervals.

    Raises
    ------
    ParameterError
        If an argument is none of these.

    >>> from dphist import Profile
    >>> rows = estimate_properties(Profile.from_counts([1, 1, 2, 4]), extra=[1])
    >>> [row.name for row in rows][:3]
    ['Shannon entropy', 'Rényi entropy of order 2', 'Min-entropy']
    """
    get_histogram(source)  # refuses what has none
    if labels is not None:
        labels = whole_number(labels, "labels", 1)
    runs = whole_number(resamples, "resamples", 0, MOST)
    if 0 < runs < FEWEST:
        raise ParameterError("resamples", f"must be at least {FEWEST}, or 0 to leave the noise out")
    if isinstance(source, Release):
        if runs:
            # This finds wrong arguments in milliseconds; the runs take seconds.
            estimate_properties(
                source.value, labels=labels, p_min=p_min, extra=extra, base=base, resamples=0
            )
        source = source if runs else source.value
    again = max(runs, FEWEST)  # checked, but used for a release alone
    return [
        *_entropies(source, again, labels, base),
        *_sizes(source, again, p_min),
        *_new_labels(source, again, extra),
        *_distances(source, again, labels),
        *_guesses(source, again),
    ]


def _entropies(source: Source, runs: int, labels: int | None, base: Exact) -> list[Property]:
    at: dict[str, _Parameter] = {"base": str(base)}
    known: dict[str, _Parameter] = {} if labels is None else {"labels": labels}
    shannon = entropy(source, labels=labels, base=base, resamples=runs)
    collision = renyi_entropy(source, order=2, base=base, resamples=runs)
    least = renyi_entropy(source, order=math.inf, base=base, resamples=runs)
    return [
        Property("entropy", "Shannon entropy", shannon, at | known),
        Property("renyi_entropy", "Rényi entropy of order 2", collision, at | {"order": 2}),
        Property("renyi_entropy", "Min-entropy", least, at | {"order": "infinity"}),
    ]


def _sizes(source: Source, runs: int, p_min: Exact | None) -> list[Property]:
    bound = support_size(source, method="chao1", resamples=runs)
    found = [
        Property(
            "support_size", Sentence("Number of {labels}, at least"), bound, {"method": "chao1"}
        )
    ]
    if p_min is not None:
        estimate = support_size(source, p_min=p_min, resamples=runs)
        least = decimal_text(exact_number(p_min, "p_min"))
        at: dict[str, _Parameter] = {"method": estimate.method, "p_min": least}
        found.append(Property("support_size", Sentence("Number of {labels}"), estimate, at))
    return found


def _new_labels(source: Source, runs: int, extra: Sequence[Exact] | None) -> list[Property]:
    found = []
    for more in [positive_number(times, "extra") for times in (_EXTRA if extra is None else extra)]:
        text = decimal_text(more)
        times_n = "n" if more == 1 else f"{text}n" if "/" not in text else f"({text})n"
        name = Sentence("New {labels} in {times} further {records}", times=times_n)
        if more <= farthest(get_histogram(source)):
            estimate = support_coverage(source, extra=more, resamples=runs)
        else:
            estimate = Estimate(
                math.nan, G_MODELING, None, None, "labels", (_TOO_FAR,), name_source(source)
            )
        found.append(Property("support_coverage", name, estimate, {"extra": text}))
    return found


def _distances(source: Source, runs: int, labels: int | None) -> list[Property]:
    if labels is None:
        return []
    estimate = distance_to_uniformity(source, labels=labels, resamples=runs)
    found = Property("distance_to_uniformity", "Distance to uniform", estimate, {"labels": labels})
    return [found]


def _guesses(source: Source, runs: int) -> list[Property]:
    """Return shares of the most common labels; for passwords, of accounts that guesses open."""
    have = get_histogram(source).labels
    found = []
    for tries in [tries for tries in _GUESSES if tries < have] or [1]:
        estimate = guessing(source, guesses=tries, resamples=runs)
        some = "the most common {label}" if tries == 1 else "the {tries:,} most common {labels}"
        name = Sentence(f"Share of {some}", tries=tries)
        found.append(Property("guessing", name, estimate, {"guesses": tries}))
    at: dict[str, _Parameter] = {"share": "1/2", "measure": "dictionary"}
    dictionary = guessing(source, share="1/2", measure="dictionary", resamples=runs)
    guesswork = guessing(source, share="1/2", bits=True, resamples=runs)
    return [
        *found,
        Property("guessing", Sentence("{Labels} that cover half the {records}"), dictionary, at),
        Property("guessing", "Guesswork for a half", guesswork, {"share": "1/2", "bits": True}),
    ]


NONE = "none stated"
_NAMED_UNITS = ("bits", "nats", "hartleys")
_COUNTED = ("labels", "guesses")
_SHARE = "share of records"
_WHOLE_FROM = 1e3  # of labels: fractions of a label are shown below, for small estimates


def name_item(item: Property) -> str:
    """Return the name, with the unit if the number does not show it.

    >>> name_item(Property("entropy", "Shannon entropy", Estimate(2.0, "", None, None, "bits", ())))
    'Shannon entropy (bits)'
    """
    unit = item.estimate.unit
    if unit in _NAMED_UNITS:
        return Sentence("{name} ({unit})", name=item.name, unit=unit)
    if "base" in item.parameters:
        return Sentence("{name} (base {base})", name=item.name, base=item.parameters["base"])
    return item.name


def format_value(estimate: Estimate) -> str:
    """Return the estimate as text."""
    return _number(estimate.value, estimate.unit)


def format_interval(estimate: Estimate) -> str:
    """Return the 95 % interval, else half of one after a ±, else that none is stated.

    The bias of an entropy without an interval may be 100 times its error, so that has no ±.

    >>> format_interval(Estimate(75.0, "", 22.4, (26.7, 123.3), "labels", ()))
    '26.7 to 123.3'
    >>> format_interval(Estimate(0.25, "", 0.0123, None, "1", ()))
    '± 0.024'
    >>> format_interval(Estimate(2.0, "", 0.0123, None, "bits", ()))
    'none stated'
    """
    if estimate.interval is not None:
        low, high = (_number(end, estimate.unit) for end in estimate.interval)
        return f"{low} to {high}"
    error = estimate.standard_error
    is_biased = estimate.unit not in (_SHARE, "1", *_COUNTED)
    if error is None or not math.isfinite(error) or is_biased:
        return NONE
    half = NORMAL * error
    shown = f"{plain_number(100 * half)} %" if estimate.unit == _SHARE else plain_number(half)
    return f"± {shown}"


def group_notes(items: Sequence[Property]) -> list[tuple[str, str]]:
    """Return names and notes; properties with the same method and notes share an entry."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for item in items:
        found.setdefault((item.estimate.method, item.estimate.notes), []).append(item.name)
    return [(join_sentences(names, "; "), _sentences(*rests)) for rests, names in found.items()]


def _sentences(method: str, notes: Sequence[str]) -> str:
    return join_sentences(map(as_sentence, (f"method {method}", *notes)))


def _number(value: float, unit: str) -> str:
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "no bound"
    if unit == _SHARE:
        return f"{plain_number(100 * value, 4)} %"
    if unit in _COUNTED:
        near = value == round(value) or value >= _WHOLE_FROM
        return f"{value:,.0f}" if near else f"{value:,.1f}"
    return f"{value:,.3f}"


# A page must not take long. 40 further releases estimate the size of the noise to 11 %. For more
# records than this they take too long, and the noise is negligible.
_RESAMPLES, _MAX_RECORDS = 40, 2**30
_SUPPOSED = Sentence(
    "Suppose the {records} are independent draws from a population of {labels}. Then the histogram "
    "says something about that population, and about {labels} that nobody has seen yet. All of "
    "this is computed from the release alone and costs no further privacy."
)
_OF_THE_TABLE = Sentence(
    "n is the number of {records} in the released histogram, and ± stands for half of a 95 % "
    "interval. For passwords, the share of the k most common ones is the share of accounts that "
    "k guesses open."
)
_WITH_NOISE = Sentence(
    "Intervals are for the {records} as a sample of the population, and for the noise of the "
    "release. This command prints them too:"
)
_WITHOUT_NOISE = Sentence(
    "Intervals are for the {records} as a sample of the population; the noise of the release comes "
    "on top. This command includes it:"
)
_NOTHING = Sentence(
    "Nothing is estimated: there are no {records} in the released histogram, or too many."
)


def population_blocks(release: Release) -> Sequence[Block]:
    """Return what the released histogram says about its population."""
    if not can_be_estimated(release.value):
        return [Note(_NOTHING)]
    noise = release.value.total <= _MAX_RECORDS and can_be_run_again(release)
    items = estimate_properties(release, resamples=_RESAMPLES if noise else 0)
    columns = [
        Column("Property", [name_item(item) for item in items]),
        Column("Estimate", [format_value(item.estimate) for item in items]),
        Column("95 % interval or ±", [format_interval(item.estimate) for item in items]),
    ]
    return [
        Note(_SUPPOSED),
        Table(columns),
        Note(_OF_THE_TABLE, "aside"),
        Note(_WITH_NOISE if noise else _WITHOUT_NOISE, "aside"),
        Note("dphist properties release.json", "code"),
        Note("What the estimates rest on", "heading"),
        *(Fact(name, text) for name, text in group_notes(items)),
    ]
