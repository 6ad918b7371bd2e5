"""What the running counts of a stream count."""

from collections.abc import Mapping
from typing import Any

from dphist.document.counted import Counted, counted_after_cut, how_many
from dphist.report.streams.words import unit_of
from dphist.streams import ContinualMechanism


def counted_by(mechanism: ContinualMechanism, provenance: Mapping[str, Any]) -> Counted:
    """Return what a mechanism counts."""
    most, labels = mechanism.max_events_per_user, how_many(mechanism.max_labels, "label")
    if most is None:
        return Counted(f"events, each counted for at most {labels}")
    user, held = unit_of(mechanism, provenance), how_many(most, "event")
    return counted_after_cut(user, f"at most {held} with {labels} each", held, "events")
