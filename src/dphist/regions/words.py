"""What is said of histograms by region, in sentences with slots for the owner's words."""

from collections.abc import Mapping
from typing import Any

from dphist.data.region_tree import RegionTree
from dphist.document.blocks import Between
from dphist.document.guarantee_words import error_in_words
from dphist.privacy.as_text import percent
from dphist.regions.mechanism import RegionalBand, RegionalProfiles
from dphist.release.release import Release
from dphist.sentence import Sentence, many
from dphist.visible import harmless

TITLE = Sentence("How many {labels} occur how often, by region")
LIMITS = [
    (
        "The parameter regions.",
        "The regions are published, and must be fixed without looking at the data. If they were "
        "taken from the data, the guarantee does not cover what they reveal, and nothing here "
        "shows it.",
    ),
]
MOVED = Sentence(
    "{A_record} that moves to another region is removed in one and added in the other: it costs "
    "what is stated for one that is exchanged."
)
ADD_UP = Sentence(
    "Each {label} is counted in every region that it lies in, with its {records} there. Numbers of "
    "{labels} with each count, of {labels} and of {records} add up over regions exactly."
)
_LETTERS = 60


def name_region(text: str) -> str:
    """Return a name that surfaces can show."""
    return harmless(text, _LETTERS)


def say_tree(tree: RegionTree) -> str:
    """Say how many regions each level has.

    >>> say_tree(RegionTree({"North": ["Bern", "Basel"], "South": ["Lugano"]}))
    '2 regions > 3 leaves'
    >>> say_tree(RegionTree(["Bern"]))
    '1 leaf'
    """
    sizes = [len(tree.level(level)) for level in range(tree.depth)]
    shown = [f"{size:,} region{'s'[: size > 1]}" for size in sizes[:-1]]
    return " > ".join([*shown, f"{sizes[-1]:,} {'leaf' if sizes[-1] == 1 else 'leaves'}"])


def say_other(bounds: Mapping[str, Any]) -> list[Sentence]:
    """Say what becomes of rows of other regions, as far as the data state it."""
    if "other" in bounds:
        said = "{other} also has all rows of other regions, and of none"
        return [Sentence(said, other=name_region(str(bounds["other"])))]
    return (
        [Sentence("rows of other regions are not counted")]
        if bounds.get("unlisted") == "drop"
        else []
    )


def say_result(release: Release, band: RegionalBand, error: str) -> Sentence:
    """Return the result in one sentence for a manager."""
    value = release.value
    return Sentence(
        "About {labels} ({between}) for {total:,} ± {error} {records}, in {leaves}. In brackets "
        "stands a 95 % interval, and ± stands for half of one.",
        labels=many(value.labels, "label"),
        between=Between(band.lower.labels, band.upper.labels),
        total=release.total or 0,
        error=error,
        records=Sentence("{record}" if release.total == 1 else "{records}"),
        leaves=say_tree(value.regions),
    )


def say_band(band: RegionalBand) -> Sentence:
    """Say what intervals and bands mean."""
    return Sentence(
        "With probability {level} or more, the true curves of all regions lie inside their bands "
        "everywhere at once, and so do all intervals of the table hold. The probability is over "
        "the mechanism's noise alone. All axes are logarithmic.",
        level=percent(band.level),
    )


def say_errors(mechanism: RegionalProfiles, guess: int, shape: Any) -> list[tuple[str, str]]:
    """Say what error to expect of each level if there are `guess` records."""
    errors, records = mechanism.expected_errors(guess, shape), many(guess, "record")
    tree = mechanism.regions
    found: list[tuple[str, str]] = []
    for level, error in enumerate(errors):
        many_regions = len(tree.level(level))
        what = "leaves" if level == tree.depth - 1 else "regions"
        said = Sentence(
            "{error} if there are {records}, over {regions:,} {what}",
            error=error_in_words(error, guess),
            records=records,
            regions=many_regions,
            what=what if many_regions > 1 else "region",
        )
        found.append(("Expected error", said))
    return found
