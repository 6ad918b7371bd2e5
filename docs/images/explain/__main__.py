"""Draw the figures that explain mechanisms.

    python docs/images/explain [NAME ...]

Each file beside this one draws the figures of one subject. The noise in them is fixed, so that a
figure changes only if its mechanism does.
"""

import sys
from collections.abc import Callable

import style

import anonymized
import labels
import privacy
import ranges
import streams

FIGURES: dict[str, Callable[[], None]] = {
    "two-tables": privacy.two_tables,
    "bounding": privacy.bounding,
    "error-and-epsilon": privacy.error_and_epsilon,
    "adaptive-scan": anonymized.adaptive_scan,
    "regions": anonymized.regions,
    "partition-sampler": anonymized.partition_sampler,
    "tree": ranges.tree,
    "adaptive-tree": ranges.adaptive_tree,
    "threshold": labels.threshold,
    "top-labels": labels.top_labels,
    "discover-labels": labels.discover_labels,
    "pay-what-you-get": labels.pay_what_you_get,
    "streams": streams.noise_over_time,
    "counter": streams.counter,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        for style.narrow in (False, True):
            FIGURES[name]()
