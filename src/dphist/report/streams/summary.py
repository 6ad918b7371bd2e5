"""Running counts of a stream in a few lines of plain text, for a terminal."""

from dphist.document import mechanism_facts
from dphist.release.release import Release
from dphist.render.text_table import beside, left, left_out, right
from dphist.report.kind import Summary
from dphist.report.promise import Promise
from dphist.report.streams import words
from dphist.report.streams.counted import counted_by
from dphist.report.streams.rows import rows_of
from dphist.visible import harmless

_ROWS = 10
_LABEL_COLUMNS = 40


def summary_of(release: Release, promise: Promise) -> Summary:
    """Return what a reader wants to know first, and the first rows of the last reading."""
    mechanism, value = words.mechanism_of(release), release.value
    last = words.until(release)
    error, width = words.error_text(mechanism, last), words.half_width(mechanism, last)
    facts = [
        ("Guarantee", f"{promise.cost}, for {promise.unit}"),
        *([] if mechanism.method == "laplace" else [("In zCDP", str(promise.guarantee))]),
        ("Events", words.reached_in_words(release)),
        ("Readings", f"{len(value):,}; {len(value.latest):,} labels in the last one"),
        ("Bounds", " ".join(words.bounding_in_words(mechanism, release.provenance))),
        ("Counts", counted_by(mechanism, release.provenance).sentence),
        ("Threshold", words.threshold_in_words(mechanism, last).removeprefix("Threshold: ")),
        (
            "Error",
            f"standard error of a count at most {error}, so ± {width:,} with probability 95 %",
        ),
        ("Method", words.method_in_words(mechanism)),
        ("Mechanism", mechanism_facts.call(mechanism)),
    ]
    meaning = f"{promise.meaning} {words.coverage_in_words(mechanism)}"
    return Summary(facts, meaning, _table(release))


def _table(release: Release) -> list[str]:
    rows = rows_of(release, _ROWS)
    if not rows:
        return ["  No label was released."]
    columns = (
        left(["label", *(harmless(row.label, 200) for row in rows)], _LABEL_COLUMNS),
        right(["count", *(f"{row.count:,}" for row in rows)]),
        right(["95 % interval", *(f"{row.low:,} to {row.high:,}" for row in rows)]),
    )
    return [*beside(*columns), *left_out(len(release.value.latest) - len(rows))]
