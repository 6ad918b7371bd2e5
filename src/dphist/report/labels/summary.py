"""Label counts and rankings in a few lines of plain text, for a terminal."""

from dphist.document import mechanism_facts
from dphist.release.release import Release
from dphist.render.text_table import beside, left, left_out, right
from dphist.report.kind import Summary
from dphist.report.labels import words
from dphist.report.labels.counted import bounding_cost, counted_of
from dphist.report.labels.rows import rows_of
from dphist.report.labels.sums import sums_in_words
from dphist.report.promise import Promise
from dphist.visible import harmless

_ROWS = 10
_LABEL_COLUMNS = 40


def summary_of(release: Release, promise: Promise) -> Summary:
    """Return what a reader wants to know first, and the first rows."""
    mechanism, value = words.mechanism_of(release), release.value
    released = sum(label is not None for label in value.labels)
    few = " (fewer than wanted were found)" if released < len(value) else ""
    cost, counted = bounding_cost(release), counted_of(release)
    sums = sums_in_words(mechanism)
    facts = [
        ("Guarantee", f"{promise.cost}, for {promise.unit}"),
        ("In zCDP", str(promise.guarantee)),
        ("Bounds", " ".join(words.bounding_in_words(mechanism, release.provenance))),
        *([] if value.counts is None else [("Counts", counted.sentence)]),
        *([(counted.who.capitalize(), cost)] if cost else []),
        ("Per label", words.per_label(mechanism)),
        *([("Sums", sums)] if sums else []),
        ("Threshold", words.threshold_in_words(mechanism).removeprefix("Threshold: ")),
        ("Labels", f"{released:,} in the release{few}"),
        ("Mechanism", mechanism_facts.call(mechanism)),
    ]
    return Summary(facts, promise.meaning, _table(release))


def _table(release: Release) -> list[str]:
    """Return the first released labels in aligned columns."""
    rows, value = rows_of(release, _ROWS), release.value
    if not rows:
        return ["  No label was released."]
    texts = [
        "(fewer were found)" if row.label is None else harmless(row.label, 200) for row in rows
    ]
    columns = [left(["label", *texts], _LABEL_COLUMNS)]
    if value.counts is not None:
        columns += [
            right(["count", *(f"{row.count:,}" for row in rows)]),
            right(["95 % interval", *(f"{row.low:,} to {row.high:,}" for row in rows)]),
        ]
    return [*beside(*columns), *left_out(len(value) - len(rows))]
