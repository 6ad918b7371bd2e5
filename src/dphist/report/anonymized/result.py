"""The result of an anonymized histogram in one sentence for a manager."""

from dphist.release.release import Release
from dphist.report.nouns import nouns_of


def result_of(release: Release) -> list[str]:
    """Return the sentence in parts."""
    value, nouns = release.value, nouns_of(release)
    if value.labels == 0:
        return [f"By the estimates there are no {nouns.record[1]}."]
    records = value.total if release.total is None else release.total
    largest, smallest = int(value.counts[-1]), int(value.counts[0])
    rare = int(value.prevalences[0])
    labels = nouns.several(value.labels, nouns.label)
    start = f"About {labels} for {nouns.several(records, nouns.record)}"
    if len(value.counts) == 1:
        return [f"{start}, {largest:,} for each."]
    have = "has" if rare == 1 else "have"
    return [
        f"{start}: the most common {nouns.label[0]} has about {largest:,}, and {rare:,} {have} "
        f"{'just one' if smallest == 1 else f'about {smallest:,}'}{'' if rare == 1 else ' each'}."
    ]
