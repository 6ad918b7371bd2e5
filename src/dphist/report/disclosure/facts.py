"""What software knows of a release that should be disclosed, in sentences.

Functions of a mechanism's parameters, of what was stated before data were seen, and of the shape of
what was released. No released count is among them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.document.guarantee_words import nouns_of_unit, unit_in_words
from dphist.document.mechanism_facts import Parameter, parameters, public_parameters
from dphist.labels import DiscoverLabels, ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.privacy import PrivacyUnit
from dphist.privacy.as_text import plain, up
from dphist.privacy.unit import ONE_EDGE, ONE_RECORD, ONE_ROW
from dphist.ranges.mechanism import RangesMechanism
from dphist.ranges.words import axes_in_words
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.report.disclosure.noise import Noise, describe_noise
from dphist.report.kinds import told
from dphist.sentence import EVENTS, Sentence, joined, many
from dphist.streams import ContinualMechanism
from dphist.streams.words import many_events
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

RANDOMNESS = "Random bits come from the operating system; forks and threads share none."


@dataclass(frozen=True, slots=True)
class Facts:
    """What software discloses of a mechanism and of how data came to it.

    Attributes
    ----------
    mechanism, description, paper : its name, how a release is made, and where it comes from.
    parameters : with their values as text.
    noise : its law, scale and exactness.
    threshold : from which noisy count on a label is released; empty without one.
    neighbors : which data are neighbors.
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
    neighbors: str
    steps: tuple[str, ...]
    public: tuple[str, ...]
    version: str


def facts_of(release: Release) -> Facts:
    """Return what is disclosed of a release."""
    return Facts(
        **_of_mechanism(release.mechanism),
        neighbors=told(release, "neighbors"),
        steps=(bounding_of(release), *_treated(release)),
        public=tuple(public_of(release.mechanism, release.value)),
        version=release.version,
    )


def facts_of_charge(mechanism: Maker, unit: PrivacyUnit) -> Facts:
    """Return what is disclosed of a mechanism that a ledger paid for without keeping a release.

    Parameters
    ----------
    unit : of the account.
    """
    return Facts(
        **_of_mechanism(mechanism),
        neighbors=f"Two data sets are neighbors if they differ in {unit}, with all of its data.",
        steps=(),
        public=tuple(public_of(mechanism)),
        version="",
    )


def _of_mechanism(mechanism: Maker) -> dict[str, Any]:
    return {
        "mechanism": type(mechanism).__name__,
        "description": mechanism.description,
        "paper": mechanism.reference,
        "parameters": tuple(parameters(mechanism)),
        "noise": describe_noise(mechanism),
        "threshold": threshold_of(mechanism),
    }


def threshold_of(mechanism: Maker) -> str:
    """Say from which noisy count on a label is released; empty if all are.

    >>> threshold_of(ThresholdHistogram(epsilon="0.7", delta="1e-6", max_labels=2))
    '21 records'
    """
    if not isinstance(mechanism, LabelsMechanism | ContinualMechanism):
        return ""
    threshold = mechanism.threshold
    if threshold is None:
        return ""
    number = plain(up(threshold))
    if isinstance(mechanism, DiscoverLabels):
        return Sentence("the weight of {number} {users} who have one {label} each", number=number)
    own = isinstance(mechanism, ThresholdHistogram | ContinualMechanism)
    above = "" if own else " above the next largest count"
    return Sentence(f"{{number}} {{records}}{above}", number=number)


def bounding_of(release: Release) -> str:
    """Say how much of one unit was counted, and who made sure of it."""
    unit, said = release.guarantee.unit, release.provenance.get("unit")
    bounds = _bounds(unit)
    if isinstance(release.mechanism, ContinualMechanism):
        cut = "dphist cut {each} to {bounds}, chosen at random."
        return Sentence(cut, each=_each(unit), bounds=bounds)
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


def public_of(mechanism: Maker, value: Any = None) -> list[str]:
    """Say what is published without noise.

    Parameters
    ----------
    value : of the release, if there is one: its edges are public.
    """
    found = ["All parameters of the mechanism, and the bounds on contributions."]
    if isinstance(mechanism, RangesMechanism):
        edges = getattr(value, "has_edges", False)
        what = "The columns and the edges of the bins" if edges else "The number of bins"
        where = f": {axes_in_words(value)}" if value is not None else ""
        found.append(f"{what}{where}.")
    if isinstance(mechanism, ContinualMechanism):
        held = "The number of {events}, which is not protected, and the times of readings."
        found.append(Sentence(held, **EVENTS))
    if isinstance(mechanism, LabelsMechanism | ContinualMechanism):
        listed = getattr(mechanism, "labels", None)
        if listed is not None:
            held = many(len(listed), "label")
            found.append(Sentence("The list of {held} for which there are counts.", held=held))
    elif isinstance(mechanism, AnonymizedMechanism):
        values = {each.name: each.value for each in parameters(mechanism)}
        found += [
            f"The parameter {name} = {values[name]}, which was given as public knowledge."
            for name in public_parameters(mechanism)
        ]
    return found


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
