"""What two releases of labels say of the same labels."""

from dphist.document.differing import Differing, check_same
from dphist.document.label_readings import Reading, compare_readings, list_comparable
from dphist.errors import UnsupportedError
from dphist.labels.bounding import bounding_cost, mechanism_of
from dphist.labels.mechanism import least_shown
from dphist.labels.words import threshold_base
from dphist.release.release import Release
from dphist.sentence import Sentence


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what two releases say of the same labels."""
    readings = [_read(each) for each in (before, after)]
    first, second = mechanism_of(before), mechanism_of(after)
    check_same("max_labels", first.max_labels, second.max_labels)
    check_same("max_count", first.max_count, second.max_count)
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
        # One step of the proof is a sketch otherwise, and noise is symmetric there.
        proved=len(set(thresholds)) < 2 and not any(map(_is_lopsided, (before, after))),
        bounding=[bounding_cost(each) for each in (before, after)],
    )


def _is_lopsided(release: Release) -> bool:
    return getattr(release.mechanism, "noise", None) == "optimal"


def _read(release: Release) -> Reading:
    mechanism, counts = mechanism_of(release), release.value.counts
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
