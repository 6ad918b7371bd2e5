"""What the report of an anonymized release says about the population behind it."""

from dataclasses import dataclass

from dphist.release import Release
from dphist.report.properties_rows import can_be_estimated, properties_of
from dphist.report.properties_words import interval_of, name_of, notes_of, value_of

# Not so in the terminal: what noise does is found by further releases, which take seconds and
# come out a little different every time. A page is a function of the release alone.
_ERRORS = (
    "Intervals and standard errors are those of the records being a sample; the noise of the "
    "release comes on top of them, and matters where epsilon is small or records are few. "
    "This command includes it:"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the section's table, as text."""

    name: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class Section:
    """The section: its table, and what each row rests on, by name.

    Attributes
    ----------
    lines : empty where the release holds nothing to estimate from.
    notes : (name, text).
    errors : what intervals and standard errors cover.
    """

    lines: list[Line]
    notes: list[tuple[str, str]]
    errors: str


def population(release: Release) -> Section:
    """Return what an anonymized release says about its population: functions of it alone."""
    if not can_be_estimated(release.value):
        return Section([], [], "")
    items = properties_of(release, resamples=0)
    lines = [
        Line(
            name_of(item),
            value_of(item.estimate),
            interval_of(item.estimate),
        )
        for item in items
    ]
    return Section(lines, notes_of(items), _ERRORS)
