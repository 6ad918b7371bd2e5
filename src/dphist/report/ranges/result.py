"""The result of a histogram over ranges in one sentence for a manager."""

from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release
from dphist.report.nouns import Verbatim, nouns_of
from dphist.report.ranges.axis_texts import axis_text, short_edges
from dphist.report.ranges.rows import count_text, error_text, quantiles_of, rows_of, whole_of

_PARTS = 12


def result_of(release: Release) -> list[str]:
    """Return the sentence in parts; names of columns are `Verbatim`."""
    histogram, nouns = release.value, nouns_of(release)
    whole = whole_of(histogram)
    if not whole.count > 0:
        return [f"By the estimates there are no {nouns.record[1]} in any bin."]
    total = _about(whole.count, whole.error)
    start = f"About {total} {nouns.record[1]}"
    if histogram.bins.ndim > 1:
        return [start, f" in {histogram.bins.size:,} bins", *_fullest(histogram)]
    found = {quantile.share: quantile.place for quantile in quantiles_of(histogram)}
    first, last = short_edges(histogram.edges[0][[0, -1]])
    if not histogram.has_edges:
        return [
            start,
            f" in {histogram.bins.size:,} bins; half of them lie below {found[0.5]}, and nine in "
            f"ten between {found[0.05]} and {found[0.95]}.",
        ]
    return [
        *(start, " with "),
        Verbatim(axis_text(histogram, 0)),
        f" from {first} to {last}; half of them lie below {found[0.5]}, and nine in ten between "
        f"{found[0.05]} and {found[0.95]}.",
    ]


def _fullest(histogram: RangeHistogram) -> list[str]:
    """Say where the first axis has most."""
    rows = rows_of(histogram, 0, _PARTS)
    whole = sum(row.count for row in rows)
    best = max(rows, key=lambda row: row.count)
    if len(rows) < 3 or not whole > 0:
        return ["."]
    share = min(round(100 * best.count / whole), 100)
    return [
        f"; {share} % of them have ",
        Verbatim(axis_text(histogram, 0)),
        f" from {best.start} to {best.stop}.",
    ]


def _about(count: float, error: float) -> str:
    """Round a count to the place that its error leaves.

    >>> _about(336_776, 27.4), _about(0.4, 2.0)
    ('336,780', '0')
    """
    place = 10 ** (len(error_text(error).replace(",", "").partition(".")[0]) - 1)
    return count_text(round(count / place) * place)
