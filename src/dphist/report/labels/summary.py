"""A labelled release in a few lines of plain text, for a terminal."""

from dphist.release.label_table import LabelTable
from dphist.release.release import Release
from dphist.report import described
from dphist.report.guarantees import in_all, total_in_words, total_of
from dphist.report.kinds import Summary
from dphist.report.labels import words as labelled_words
from dphist.report.labels.rows import rows_of
from dphist.report.labels_shown import harmless, in_columns
from dphist.report.numbers_protected import number_protected
from dphist.report.what_is_counted import bounding_cost, counted_of

_ROWS = 10
_LABEL_COLUMNS = 40


def summary_of(release: Release) -> Summary:
    """Return what a reader wants to know first, and the first rows."""
    unit = labelled_words.protected_unit(release.provenance)
    promise = total_in_words(
        total_of(release.mechanism), unit, number_protected(release), release.guarantee
    )
    return Summary(_facts(release), promise, _table(release))


def _facts(release: Release) -> list[tuple[str, str]]:
    mechanism, provenance = release.mechanism, release.provenance
    unit = labelled_words.protected_unit(provenance)
    value: LabelTable = release.value
    released = sum(label is not None for label in value.labels)
    few = " (fewer than wanted were found)" if released < len(value) else ""
    return [
        ("Guarantee", f"{in_all(total_of(mechanism))}, for {unit}"),
        ("In zCDP", str(release.guarantee)),
        ("Bounds", " ".join(labelled_words.bounding_in_words(mechanism, provenance))),
        *_what(release),
        ("Per label", labelled_words.per_label(mechanism)),
        ("Threshold", labelled_words.threshold_in_words(mechanism).removeprefix("Threshold: ")),
        ("Labels", f"{released:,} in the release{few}"),
        ("Mechanism", described.call(mechanism)),
    ]


def _what(release: Release) -> list[tuple[str, str]]:
    """Say what counts are of, and how far that may be from the data."""
    facts = [("Counts", counted_of(release).sentence)] if release.value.counts is not None else []
    cost = bounding_cost(release)
    return [*facts, ("Users cut", cost)] if cost else facts


def _table(release: Release) -> list[str]:
    """Return the first released labels in aligned columns."""
    rows = rows_of(release, _ROWS)
    if not rows:
        return ["  No label was released."]
    texts = [
        "(fewer were found)" if row.label is None else harmless(row.label, 200) for row in rows
    ]
    counted = rows[0].count is not None
    names = ["count", "95 % interval"] if counted else []
    cells = [[f"{row.count:,}", f"{row.low:,} to {row.high:,}"] if counted else [] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    lines = []
    for text, row in zip(["label", *texts], [names, *cells], strict=True):
        numbers = "".join(
            f"   {cell.rjust(width)}" for cell, width in zip(row, widths, strict=True)
        )
        lines.append(f"  {in_columns(text, _LABEL_COLUMNS)}{numbers}".rstrip())
    left_out = len(release.value) - len(rows)
    if left_out:
        lines.append(f"  ... {left_out:,} more rows ...")
    return lines
