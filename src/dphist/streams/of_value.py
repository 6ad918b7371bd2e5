"""What is said of running counts by themselves."""

from dphist.document.of_value import OfValue, head_of_labels
from dphist.release.running_counts import RunningCounts


def of_value(counts: RunningCounts, most: int) -> OfValue:
    """Return what is said of running counts, with up to `most` labels of the last reading."""
    last = f"{int(counts.times[-1]):,}"
    caption = f"The last reading, after {last} events."
    return OfValue(
        title="Released running counts",
        facts=[
            ("Readings", f"{len(counts):,}"),
            ("Events until the last", last),
            ("Labels in any reading", f"{len(counts.labels):,}"),
        ],
        head=head_of_labels(counts.latest, most, caption),
    )
