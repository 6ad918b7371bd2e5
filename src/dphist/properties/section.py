"""Estimated properties as text: numbers with as many digits as they justify, and notes."""

import math
from collections.abc import Sequence

from dphist.document.blocks import Block, Column, Fact, Note, Table
from dphist.properties import Estimate
from dphist.properties.estimate import NORMAL, plain_number
from dphist.properties.overview import Property, can_be_estimated, properties_of
from dphist.properties.resampling import can_be_run_again
from dphist.release.release import Release
from dphist.sentence import Sentence, as_sentence, joined

NONE = "none stated"
_NAMED_UNITS = ("bits", "nats", "hartleys")
_COUNTED = ("labels", "guesses")
_SHARE = "share of records"
_WHOLE_FROM = 1e3  # of labels: fractions of a label are shown below, for small estimates


def name_of(item: Property) -> str:
    """Return the name, with the unit if the number does not show it.

    >>> name_of(Property("entropy", "Shannon entropy", Estimate(2.0, "", None, None, "bits", ())))
    'Shannon entropy (bits)'
    """
    unit = item.estimate.unit
    if unit in _NAMED_UNITS:
        return Sentence("{name} ({unit})", name=item.name, unit=unit)
    if "base" in item.parameters:
        return Sentence("{name} (base {base})", name=item.name, base=item.parameters["base"])
    return item.name


def value_of(estimate: Estimate) -> str:
    """Return the estimate as text."""
    return _number(estimate.value, estimate.unit)


def interval_of(estimate: Estimate) -> str:
    """Return the 95 % interval, else half of one after a ±, else that none is stated.

    >>> interval_of(Estimate(75.0, "", 22.4, (26.7, 123.3), "labels", ()))
    '26.7 to 123.3'
    >>> interval_of(Estimate(2.0, "", 0.0123, None, "bits", ()))
    '± 0.024'
    """
    if estimate.interval is not None:
        low, high = (_number(end, estimate.unit) for end in estimate.interval)
        return f"{low} to {high}"
    error = estimate.standard_error
    if error is None or not math.isfinite(error):
        return NONE
    half = NORMAL * error
    shown = f"{plain_number(100 * half)} %" if estimate.unit == _SHARE else plain_number(half)
    return f"± {shown}"


def notes_of(items: Sequence[Property]) -> list[tuple[str, str]]:
    """Return names and notes; properties with the same method and notes share an entry."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for item in items:
        found.setdefault((item.estimate.method, item.estimate.notes), []).append(item.name)
    return [(joined(names, "; "), _sentences(*rests)) for rests, names in found.items()]


def _sentences(method: str, notes: Sequence[str]) -> str:
    return joined(map(as_sentence, (f"method {method}", *notes)))


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
    items = properties_of(release, resamples=_RESAMPLES if noise else 0)
    columns = [
        Column("Property", [name_of(item) for item in items]),
        Column("Estimate", [value_of(item.estimate) for item in items]),
        Column("95 % interval or ±", [interval_of(item.estimate) for item in items]),
    ]
    return [
        Note(_SUPPOSED),
        Table(columns),
        Note(_OF_THE_TABLE, "aside"),
        Note(_WITH_NOISE if noise else _WITHOUT_NOISE, "aside"),
        Note("dphist properties release.json", "code"),
        Note("What the estimates rest on", "heading"),
        *(Fact(name, text) for name, text in notes_of(items)),
    ]
