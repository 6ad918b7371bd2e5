"""What the running counts of a stream count."""

from dphist.report.counted import Counted, counted_after_cut, how_many
from dphist.streams import ContinualMechanism


def counted_by(mechanism: ContinualMechanism) -> Counted:
    """Return what a mechanism counts."""
    most, labels = mechanism.max_events_per_user, how_many(mechanism.max_labels, "label")
    if most is None:
        return Counted(f"events, each counted for at most {labels}")
    held = how_many(most, "event")
    return counted_after_cut("one user", f"at most {held} with {labels} each", held, "events")
