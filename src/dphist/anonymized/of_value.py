"""What is said of an anonymized histogram by itself."""

from dphist.document.of_value import OfValue, Table
from dphist.release.anonymized_histogram import AnonymizedHistogram


def of_value(histogram: AnonymizedHistogram, most: int) -> OfValue:
    """Return what is said of a histogram, with up to `most` rows: the largest counts."""
    many = len(histogram.counts)
    largest = [part[::-1][:most].tolist() for part in (histogram.counts, histogram.prevalences)]
    rows = list(zip(*largest, strict=True))
    caption = f"The largest {most} of {many:,} counts." if many > most else ""
    return OfValue(
        title="Released anonymized histogram",
        facts=[("Labels", f"{histogram.labels:,}"), ("Records", f"{histogram.total:,}")],
        head=Table(["count", "labels"], rows, many, caption=caption),
    )
