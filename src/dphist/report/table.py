"""The released table as text, for spreadsheets and other programs."""

from dphist.release import Release


def table_csv(release: Release) -> str:
    """Return columns count,prevalence as CSV, ascending counts, one header line."""
    pairs = zip(release.value.counts.tolist(), release.value.prevalences.tolist(), strict=True)
    return "count,prevalence\n" + "".join(f"{count},{labels}\n" for count, labels in pairs)
