"""What two readings of streams, or of one stream, say of the same labels."""

from dphist.document.differing import UNKNOWN_BOUNDING, Differing, check_same
from dphist.document.label_readings import Reading, compare_readings, list_comparable
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.streams import words


def compare_releases(before: Release, after: Release) -> Differing:
    """Return what the last readings of two releases say of the same labels."""
    readings, both = [_read(each) for each in (before, after)], (before, after)
    mechanisms = [words.mechanism_of(each) for each in both]
    check_same("max_labels", *(each.max_labels for each in mechanisms))
    check_same("max_events_per_user", *(each.max_events_per_user for each in mechanisms))
    check_same("type of labels", *(each.value.label_type for each in both))
    labels = list_comparable(*readings)
    if all(each.threshold is None for each in readings):
        tests = len(labels)
        said = Sentence("Bonferroni over all {n:,} listed {labels}", n=tests)
    else:
        tests = sum(int(each.value.times[-1]) for each in both) * mechanisms[0].max_labels
        said = Sentence(
            "Bonferroni over the {n:,} {labels} that the events read can have, shown or not; also "
            "for two readings of one stream",
            n=tests,
        )
    bounded = [each.max_events_per_user is not None for each in mechanisms]
    return compare_readings(
        readings,
        labels,
        tests=max(tests, 1),
        correction=said,
        bounding=[UNKNOWN_BOUNDING if each else "" for each in bounded],
    )


def _read(release: Release) -> Reading:
    mechanism, latest, last = (
        words.mechanism_of(release),
        release.value.latest,
        words.until(release),
    )
    texts = [str(text) for text in latest.texts]
    counts = [] if latest.counts is None else latest.counts.tolist()
    return Reading(
        dict(zip(texts, counts, strict=True)),
        lambda level: mechanism.half_width(level, last),
        mechanism.least_shown(last),
    )
