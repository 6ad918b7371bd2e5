"""What a release of discovered labels says: weights in place of counts, and no ranks."""

from dphist.labels import DiscoverLabels
from dphist.privacy.as_text import plain, up
from dphist.report.labels.appearance import Appearance

LABELS_IN_ORDER = (
    "Labels come in their own order, by letters or by size, which says nothing about how common "
    "they are."
)
LEAST_SHOWN_NOTE = (
    "users who have one label each, with noise; a user with t labels weighs about 1/√t on each"
)


def threshold_of_weights(mechanism: DiscoverLabels) -> str:
    """Say where the threshold lies.

    >>> threshold_of_weights(DiscoverLabels(epsilon="0.25", delta="1e-6", max_labels=100))
    ... # doctest: +NORMALIZE_WHITESPACE
    'Threshold: 22.8293, in users who have one label each; labels with a noisy total weight above it
    are released. A user with t labels weighs about 1/√t on each.'
    """
    return (
        f"Threshold: {plain(up(mechanism.threshold))}, in users who have one label each; labels "
        "with a noisy total weight above it are released. A user with t labels weighs about 1/√t "
        "on each."
    )


def users_that_are_enough(mechanism: DiscoverLabels, appearance: Appearance) -> str:
    """Say how many users a label needs to be released with some chance."""
    labels = f"{mechanism.max_labels:,} label" + ("s" if mechanism.max_labels != 1 else "")
    return (
        f"With {appearance.count:,} users who have {labels} each, a label is released with a "
        f"chance of {100 * appearance.chance:g} % if no weight is moved; usually fewer are enough."
    )
