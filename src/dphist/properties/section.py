"""What the page of an anonymized histogram says about the population behind it."""

from collections.abc import Sequence

from dphist.document.blocks import Block, Column, Fact, Note, Table
from dphist.properties.overview import can_be_estimated, properties_of
from dphist.properties.resampling import can_be_run_again
from dphist.properties.words import interval_of, name_of, notes_of, value_of
from dphist.release.release import Release
from dphist.sentence import Sentence

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
