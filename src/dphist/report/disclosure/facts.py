"""What software knows of a release that should be disclosed, in sentences.

Functions of a mechanism's parameters, of what was stated before data were seen, and of the shape of
what was released. No released count is among them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dphist.document.guarantee_words import nouns_of_unit, unit_in_words
from dphist.document.kind import Disclosed
from dphist.document.kinds import kind_of_mechanism
from dphist.document.mechanism_facts import Parameter, parameters
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import ONE_EDGE, ONE_RECORD, ONE_ROW
from dphist.release.maker import Maker
from dphist.release.mechanisms import package_of
from dphist.release.release import Release
from dphist.report.disclosure.noise import Noise, describe_noise
from dphist.report.kinds import told
from dphist.sentence import Sentence, joined, many, many_events
from dphist.visible import harmless

_BOUNDS: dict[str, Callable[[int], str]] = {
    "max_labels": lambda most: many(most, "label"),
    "max_count": lambda most: Sentence("{most:,} in each {label}", most=most),
    "max_records": lambda most: many(most, "record"),
    "max_events": many_events,
}
_TREATED = {
    "refuse": "Data with a row without {missing} are refused.",
    "drop": "Rows without {missing} are dropped.",
    "separate": "Each row without {missing} counts as another one.",
}
_LONGEST = 200

NOT_PROTECTED = (
    "Timing, memory and disk use are not protected: how long a release takes depends on the data, "
    "so readers must not be able to measure it.",
    "Names of columns count as public, and errors may show them.",
    "What holds for everybody is not hidden: a reader may draw conclusions about a person from the "
    "overall pattern, whether or not the person is in the data.",
)
"""What no release of dphist protects."""

CHOSEN_BEFORE = "All of this must be chosen without a look at the data; dphist cannot check that."
"""What holds of all that is published without noise."""

_PUBLIC = "All parameters of the mechanism, and the bounds on contributions."

RANDOMNESS = "Random bits come from the operating system; forks and threads share none."


@dataclass(frozen=True, slots=True)
class Facts:
    """What software discloses of a mechanism and of how data came to it.

    Attributes
    ----------
    mechanism, description, paper : its name, how a release is made, and where it comes from.
    parameters : with their values as text.
    noise : its law, scale and exactness.
    threshold : from which noisy number on a label is released; empty without one.
    noisy : what that number is.
    neighbors : which data are neighbors.
    continues : whether a release holds all earlier ones of its run, at the cost of one.
    steps : what was done to the data before counting, in sentences.
    public : what is published without noise, in sentences.
    version : of dphist; empty where no release says it.
    """

    mechanism: str
    description: str
    paper: str
    parameters: tuple[Parameter, ...]
    noise: Noise
    threshold: str
    noisy: str
    continues: bool
    neighbors: str
    steps: tuple[str, ...]
    public: tuple[str, ...]
    version: str


def facts_of(release: Release) -> Facts:
    """Return what is disclosed of a release."""
    disclosed = _disclosed(release.mechanism, release.value)
    return Facts(
        **_of_mechanism(release.mechanism, disclosed),
        neighbors=told(release, "neighbors"),
        steps=(_bounding_of(release, disclosed), *_treated(release)),
        version=release.version,
    )


def facts_of_charge(mechanism: Maker, unit: PrivacyUnit) -> Facts:
    """Return what is disclosed of a mechanism that a ledger paid for without keeping a release.

    Parameters
    ----------
    unit : of the account.
    """
    return Facts(
        **_of_mechanism(mechanism, _disclosed(mechanism)),
        neighbors=f"Two data sets are neighbors if they differ in {unit}, with all of its data.",
        steps=(),
        version="",
    )


def _disclosed(mechanism: Maker, value: Any = None) -> Disclosed:
    """Return what the kind of a mechanism discloses of it; nothing of those of others."""
    kind = kind_of_mechanism(mechanism)
    return kind.disclosed(mechanism, value) if kind and kind.disclosed else Disclosed()


def _of_mechanism(mechanism: Maker, disclosed: Disclosed) -> dict[str, Any]:
    return {
        "mechanism": type(mechanism).__name__,
        "description": mechanism.description,
        "paper": mechanism.reference,
        "parameters": tuple(parameters(mechanism)),
        "noise": describe_noise(mechanism),
        "threshold": disclosed.threshold,
        "noisy": disclosed.noisy,
        "continues": disclosed.continues,
        "public": (_PUBLIC, *disclosed.public),
    }


def _bounding_of(release: Release, disclosed: Disclosed) -> str:
    """Say how much of one unit was counted, and who made sure of it."""
    unit, said = release.guarantee.unit, release.provenance.get("unit")
    bounds = _bounds(unit)
    if disclosed.cuts:
        made = type(release.mechanism)
        by = "dphist" if package_of(made) is None else made.__name__
        cut = "{by} cut {each} to {bounds}, chosen at random."
        return Sentence(cut, by=by, each=_each(unit), bounds=bounds)
    if said is None or said.asserted:
        if unit == ONE_RECORD:
            return Sentence(
                "Each {record} is protected by itself: nobody's {records} were bounded."
            )
        named = unit_in_words(unit)
        return Sentence(
            "Whoever made the data asserts that {who} has {bounds}. dphist has not cut the data, "
            "and cannot check it.",
            who="one unit" if unit.at_most > 1 else named,
            bounds=bounds or named,
        )
    if said in (ONE_ROW, ONE_EDGE) or not bounds:
        one = harmless(said.name, _LONGEST)
        return f"One {one} is protected by itself: nothing was bounded."
    return Sentence(
        "dphist cut {each} to {bounds}, chosen at random, before anything was counted. No count "
        "contains what was cut.",
        each=_each(unit),
        bounds=bounds,
    )


def _treated(release: Release) -> list[Sentence]:
    found = []
    who = nouns_of_unit(release.guarantee.unit)[2]
    for name, missing in (("null_users", who), ("null_labels", Sentence("{a_label}"))):
        treatment = _TREATED.get(release.provenance.get(name, ""))
        if treatment is not None:
            found.append(Sentence(treatment, missing=missing))
    return found


def _each(unit: PrivacyUnit) -> Sentence:
    return Sentence("each {who}", who=nouns_of_unit(unit)[0])


def _bounds(unit: PrivacyUnit) -> str:
    """Say how much of one unit is counted."""
    held = {name: bound for name, bound in unit.bounds if bound is not None}
    parts = [
        Sentence("at most {held}", held=write(held[name]))
        for name, write in _BOUNDS.items()
        if name in held
    ]
    return joined(parts, " and ")
