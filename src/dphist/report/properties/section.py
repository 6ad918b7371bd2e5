"""What the page of an anonymized histogram says about the population behind it."""

from dataclasses import dataclass

from dphist.properties.resampling import can_be_run_again
from dphist.release.release import Release
from dphist.report.properties.rows import can_be_estimated, properties_of
from dphist.report.properties.words import interval_of, name_of, notes_of, value_of

# A page must not take long. 40 further releases estimate the size of the noise to 11 %. For more
# records than this they take too long, and the noise is negligible.
_RESAMPLES, _MOST_RECORDS = 40, 2**30
_ERRORS = "Intervals and standard errors are for the records as a sample of the population"
_WITH_NOISE = ", and for the noise of the release. This command prints them too:"
_WITHOUT_NOISE = "; the noise of the release comes on top. This command includes it:"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the section's table, as text."""

    name: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class Section:
    """The section: its table, and what each estimate rests on.

    Attributes
    ----------
    lines : empty if the release holds nothing to estimate from.
    notes : (name, text).
    errors : what intervals and standard errors cover.
    """

    lines: list[Line]
    notes: list[tuple[str, str]]
    errors: str


def population(release: Release) -> Section:
    """Return what the released histogram says about its population."""
    if not can_be_estimated(release.value):
        return Section([], [], "")
    noise = release.value.total <= _MOST_RECORDS and can_be_run_again(release)
    items = properties_of(release, resamples=_RESAMPLES if noise else 0)
    lines = [
        Line(
            name_of(item),
            value_of(item.estimate),
            interval_of(item.estimate),
        )
        for item in items
    ]
    errors = _ERRORS + (_WITH_NOISE if noise else _WITHOUT_NOISE)
    return Section(lines, notes_of(items), errors)
