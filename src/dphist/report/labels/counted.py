"""What the counts of labels count, and how many users were cut to the bounds."""

import math
from collections.abc import Mapping
from typing import Any

from dphist.document.counted import Counted, counted_after_cut, how_many
from dphist.document.guarantee_words import plural_of
from dphist.labels import ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.threshold.cut_users import CutUsers
from dphist.privacy.unit import ONE_ROW, PrivacyUnit
from dphist.release.release import Release
from dphist.report.labels.words import mechanism_of, unit_of


def counted_by(mechanism: LabelsMechanism, provenance: Mapping[str, Any]) -> Counted:
    """Return what a mechanism counts, by what is known of the data before they are read.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> counted_by(mechanism, {"unit": PrivacyUnit("user")}).whole
    'records, after each user was cut to at most 10 labels and 1 record of each'
    >>> counted_by(mechanism, {"unit": PrivacyUnit("user")}).cut
    'each user cut to 10 labels, 1 of each'
    """
    labels, most = _bounds(mechanism, provenance)
    unit = unit_of(provenance)
    if unit.asserted:
        return Counted("records as the caller counted them; users may have been cut before")
    if unit == ONE_ROW:
        # Without a column of counts a row is one record.
        whole = "max_count" not in provenance if "null_labels" in provenance else most == 1
        if whole:
            return Counted("records")
        return counted_after_cut(unit, f"at most {most:,}", f"{most:,}")
    if labels is None:
        held = f"{how_many(most, 'record')} of each label"
        return counted_after_cut(unit, f"at most {held}", held)
    held = how_many(labels, "label")
    return counted_after_cut(
        unit, f"at most {held} and {how_many(most, 'record')} of each", f"{held}, {most:,} of each"
    )


def counted_of(release: Release) -> Counted:
    """Return what the counts of a release count."""
    return counted_by(mechanism_of(release), release.provenance)


def cut_users_of(release: Release) -> CutUsers | None:
    """Return how many users were cut, if the release tells."""
    mechanism = mechanism_of(release)
    if not isinstance(mechanism, ThresholdHistogram):
        return None
    return mechanism.cut_users(release.noisy)


def share_in_short(found: CutUsers) -> str:
    """Write the share of users who were cut.

    >>> share_in_short(CutUsers(9030, 970, 30))
    '9.7 %'
    """
    return _percent(round(1000 * found.share))


def cut_users_in_words(found: CutUsers, mechanism: ThresholdHistogram, many: str = "users") -> str:
    """Say how many users had more than the bounds.

    Parameters
    ----------
    many : what users are, in the plural.

    >>> mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    >>> cut_users_in_words(CutUsers(9030, 970, 30), mechanism)  # doctest: +NORMALIZE_WHITESPACE
    'About 9.7 % of users (95 % interval 9.4 to 10 %) had more than 10 labels; their surplus is
    missing from the counts.'
    """
    low, high = math.floor(1000 * found.low), math.ceil(1000 * found.high)
    more = f"more than {how_many(mechanism.max_labels, 'label')}"
    if mechanism.max_count > 1:
        more += f", or more than {mechanism.max_count:,} records of one"
    return (
        f"About {share_in_short(found)} of {many} (95 % interval {_percent(low)[:-2]} to "
        f"{_percent(high)}) had {more}; their surplus is missing from the counts."
    )


def cut_users_json(release: Release) -> dict[str, Any]:
    """Return how many users were cut, for programs; empty if the release does not tell."""
    found = cut_users_of(release)
    if found is None:
        return {}
    shares = {"share": found.share, "share_low": found.low, "share_high": found.high}
    numbers = {"within": found.within, "cut": found.cut, "error": found.error}
    return {"cut_users": {**numbers, **shares}}


def bounding_cost(release: Release) -> str:
    """Say how many users were cut, or that the release does not tell; empty if none were."""
    mechanism, found = release.mechanism, cut_users_of(release)
    unit = unit_of(release.provenance)
    many = plural_of(PrivacyUnit(unit.who))
    if isinstance(mechanism, ThresholdHistogram) and found is not None:
        return cut_users_in_words(found, mechanism, many)
    if not counted_of(release).cut or unit == ONE_ROW:
        return ""
    return f"The release does not state how many {many} had more than the bounds."


def _bounds(mechanism: LabelsMechanism, provenance: Mapping[str, Any]) -> tuple[int | None, int]:
    """Return what users were cut to: the data's own bounds, or else the mechanism's."""
    if "max_labels" not in provenance:  # in files of earlier versions
        return mechanism.max_labels, mechanism.max_count
    labels = provenance["max_labels"]
    return None if labels == "none" else int(labels), int(provenance["max_count"])


def _percent(thousandths: int) -> str:
    whole, rest = divmod(thousandths, 10)
    return f"{whole}.{rest} %" if rest else f"{whole} %"
