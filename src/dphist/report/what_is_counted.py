"""What a released count counts, in words: records after each user was cut to the bounds.

Noise intervals are for these counts. How far they are from the data before bounding, noise does not
say, so every headline, table, legend and program output says what stands there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dphist.data.profile import ONE_EDGE
from dphist.labels import ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.threshold.cut_users import CutUsers
from dphist.release.label_table import LabelTable
from dphist.release.release import Release
from dphist.report.labels.words import is_promised, protected_unit
from dphist.streams import ContinualMechanism


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts are of.

    Attributes
    ----------
    whole : such as "records, after each user was cut to at most 10 labels"; stands after "are of".
    cut : to what, in short: "each user cut to 10 labels"; empty where nothing was cut.
    who : such as "users cut", for a legend; empty where nothing was cut.
    """

    whole: str
    cut: str = ""
    who: str = ""

    @property
    def sentence(self) -> str:
        """Say what counts and intervals are for."""
        if not self.cut:
            return f"Counts and intervals are of {self.whole}."
        return (
            f"Counts and intervals are of {self.whole}: intervals cover the noise, and not what "
            "was cut."
        )

    @property
    def released(self) -> str:
        """The legend's name of what was released."""
        return f"Released, {self.who}" if self.who else "Released"

    @property
    def after(self) -> str:
        """To be put behind "records", with what was cut; empty where nothing was."""
        return f", {self.cut}" if self.cut else ""


def counted_of(release: Release) -> Counted:
    """Return what the counts of a release are of."""
    return counted_by(release.mechanism, release.provenance)


def counted_by(mechanism: Any, provenance: Mapping[str, str]) -> Counted:
    """Return what a mechanism counts, of data of which that was stated.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> counted_by(mechanism, {"unit": "one user"}).whole
    'records, after each user was cut to at most 10 labels and 1 record of each'
    >>> counted_by(mechanism, {"unit": "one user"}).cut
    'each user cut to 10 labels, 1 of each'
    """
    if isinstance(mechanism, LabelsMechanism):
        return _labels(mechanism, provenance)
    if isinstance(mechanism, ContinualMechanism):
        return _events(mechanism)
    unit = provenance.get("unit")
    if unit is None:
        return Counted("records")
    if unit == ONE_EDGE:
        return Counted("edges")
    most = int(provenance.get("max_records", mechanism.sensitivity))
    return _cut(unit, f"at most {_number(most, 'record')}", f"{_number(most, 'record')}")


def cut_users_of(release: Release) -> CutUsers | None:
    """Return how many users were cut, where the release tells."""
    mechanism = release.mechanism
    if not isinstance(mechanism, ThresholdHistogram):
        return None
    return mechanism.cut_users(release.noisy)


def share_in_short(found: CutUsers) -> str:
    """Write the share of users who were cut.

    >>> share_in_short(CutUsers(9030, 970, 30))
    '9.7 %'
    """
    return _percent(round(1000 * found.share))


def cut_users_in_words(found: CutUsers, mechanism: Any) -> str:
    """Say how many users had more than the bounds.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> cut_users_in_words(CutUsers(9030, 970, 30), mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'About 9.7 % of users (95 % interval 9.4 to 10 %) had more than 10 labels; their surplus is
    missing from the counts.'
    """
    low, high = math.floor(1000 * found.low), math.ceil(1000 * found.high)
    more = f"more than {_number(mechanism.max_labels, 'label')}"
    if mechanism.max_count > 1:
        more += f", or more than {mechanism.max_count:,} records of one"
    return (
        f"About {share_in_short(found)} of users (95 % interval {_percent(low)[:-2]} to "
        f"{_percent(high)}) had {more}; their surplus is missing from the counts."
    )


def counted_json(release: Release) -> dict[str, Any]:
    """Return what counts are of, and how many users were cut where the release tells."""
    if isinstance(release.value, LabelTable) and release.value.counts is None:
        return {}
    of, found = {"counts_of": counted_of(release).whole}, cut_users_of(release)
    if found is None:
        return of
    shares = {"share": found.share, "share_low": found.low, "share_high": found.high}
    numbers = {"within": found.within, "cut": found.cut, "error": found.error}
    return {**of, "cut_users": {**numbers, **shares}}


def bounding_cost(release: Release) -> str:
    """Say how many users were cut, or that nobody knows; empty where none were."""
    found = cut_users_of(release)
    if found is not None:
        return cut_users_in_words(found, release.mechanism)
    unit = str(release.provenance.get("unit", ""))
    if not counted_of(release).cut or unit == "one row":
        return ""
    return "How many users had more than the bounds, the release does not tell."


def _labels(mechanism: LabelsMechanism, provenance: Mapping[str, str]) -> Counted:
    labels, most = _bounds(mechanism, provenance)
    if is_promised(provenance):
        return Counted("records as the caller counted them, who may have cut users before")
    unit = protected_unit(provenance)
    if unit == "one row":
        # Without a column of counts a row is one record.
        whole = "max_count" not in provenance if "null_labels" in provenance else most == 1
        return Counted("records") if whole else _cut(unit, f"at most {most:,}", f"{most:,}")
    if labels is None:
        held = f"{_number(most, 'record')} of each label"
        return _cut(unit, f"at most {held}", held)
    held = _number(labels, "label")
    return _cut(
        unit, f"at most {held} and {_number(most, 'record')} of each", f"{held}, {most:,} of each"
    )


def _bounds(mechanism: LabelsMechanism, provenance: Mapping[str, str]) -> tuple[int | None, int]:
    """Return to what users were cut: the data's own bounds, or else at most the mechanism's."""
    if "max_labels" not in provenance:  # in files of earlier versions
        return mechanism.max_labels, mechanism.max_count
    labels = provenance["max_labels"]
    return None if labels == "none" else int(labels), int(provenance["max_count"])


def _events(mechanism: Any) -> Counted:
    most, labels = mechanism.max_events_per_user, _number(mechanism.max_labels, "label")
    if most is None:
        return Counted(f"events, each counted for at most {labels}")
    held = _number(most, "event")
    return _cut("one user", f"at most {held} with {labels} each", held, "events")


def _cut(unit: str, long: str, short: str, noun: str = "records") -> Counted:
    who = unit.removeprefix("one ").split(",")[0]
    return Counted(
        f"{noun}, after each {who} was cut to {long}", f"each {who} cut to {short}", f"{who}s cut"
    )


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s'[: number != 1]}"


def _percent(thousandths: int) -> str:
    whole, rest = divmod(thousandths, 10)
    return f"{whole}.{rest} %" if rest else f"{whole} %"
