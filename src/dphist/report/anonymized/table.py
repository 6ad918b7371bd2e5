"""The table of an anonymized histogram as CSV."""

from dphist.release.anonymized_histogram import AnonymizedHistogram


def anonymized_csv(value: AnonymizedHistogram) -> str:
    """Return columns count,prevalence, ascending counts."""
    pairs = zip(value.counts.tolist(), value.prevalences.tolist(), strict=True)
    return "count,prevalence\n" + "".join(f"{count},{labels}\n" for count, labels in pairs)
