"""What two releases of labels say of the same labels."""

from dataclasses import replace
from functools import partial

from dphist.document.differing import Differing, check_same
from dphist.document.label_readings import Reading, compare_readings, list_comparable
from dphist.errors import UnsupportedError, phrase
from dphist.labels.bounding import bounding_cost, find_max_labels, find_mechanism, read_users_above
from dphist.labels.mechanism import least_shown
from dphist.labels.words import threshold_base
from dphist.release.release import Release
from dphist.release.users_by_size import UsersBySize
from dphist.sentence import Sentence


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the same labels."""
    readings = [_read(each) for each in (before, after)]
    check_same("max_count", find_mechanism(before).max_count, find_mechanism(after).max_count)
    check_same("step of weights", *(find_mechanism(each).step for each in (before, after)))
    lists = [frozenset(find_mechanism(each).other_than or ()) for each in (before, after)]
    check_same("labels beside other", *lists, remedy=_OTHERS)
    bounds = find_max_labels(before), find_max_labels(after)
    if bounds[0] != bounds[1]:
        users = [each for each in map(read_users_above, (before, after)) if each is not None]
        if len(users) < len(readings):
            check_same("max_labels", *bounds, remedy=_REMEDY)
        readings = [
            replace(reading, above=partial(_count_above, each))
            for reading, each in zip(readings, users, strict=True)
        ]
    kinds = [each.value.to_arrow().schema.field("label").type for each in (before, after)]
    check_same("type of labels", *kinds)
    labels = list_comparable(*readings)
    thresholds = [each.threshold for each in readings if each.threshold is not None]
    chosen = len(thresholds) > 0
    return compare_readings(
        readings,
        labels,
        tests=(2 if chosen else 1) * max(len(labels), 1),
        correction=_correct(len(labels), chosen=chosen),
        proved=not any(map(_is_lopsided, (before, after))),  # the proof is of symmetric noise
        bounding=[bounding_cost(each) for each in (before, after)],
    )


_REMEDY = phrase(
    "count both with one {max_labels}, or release with each how many users have more: with "
    "{users_by_labels}, or by AutoThreshold; intervals are then of counts before bounding"
)


_OTHERS = phrase("release both with the same {labels} and {other}")


def _count_above(users: UsersBySize, level: float) -> int:
    return users.users_above(level)[1]


def _is_lopsided(release: Release) -> bool:
    return getattr(release.mechanism, "noise", None) == "optimal"


def _read(release: Release) -> Reading:
    mechanism, counts = find_mechanism(release), release.value.counts
    if counts is None:
        raise UnsupportedError(
            f"a release of {type(mechanism).__name__} holds labels without counts, which have no "
            "difference: release counts, such as with ThresholdHistogram"
        )
    if threshold_base(mechanism) not in (None, "zero"):
        raise UnsupportedError(
            f"{type(mechanism).__name__} shows the largest counts, so nothing is known of a label "
            "that it does not show: compare releases of ThresholdHistogram"
        )
    texts = [text for text in release.value.texts if text is not None]
    threshold = None if mechanism.threshold is None else least_shown(mechanism)
    return Reading(dict(zip(texts, counts.tolist(), strict=True)), mechanism.half_width, threshold)


def _correct(labels: int, *, chosen: bool) -> Sentence:
    """Say how the error rate is divided among labels; the proof is in `difference.md`."""
    if not chosen:
        return Sentence("Bonferroni over all {n:,} listed {labels}", n=labels)
    return Sentence(
        "Bonferroni over the {n:,} {labels} that a release shows, each at half of its share, "
        "because the {labels} are chosen by their noisy counts; for releases with noise of their "
        "own",
        n=labels,
    )
