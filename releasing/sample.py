"""A program of a user, whose types mypy and pyright check with an installed dphist."""

from typing import assert_type

import numpy as np

import dphist as dh

profile = dh.Profile.from_counts([8, 8, 3])
assert_type(profile.total, int)

release = dh.anonymize(profile, epsilon=1)
assert_type(release, dh.Release)

scan = dh.AdaptiveScan(epsilon="1/2")
assert_type(dh.PureDP(1).to_approx_dp("1e-9"), dh.ApproxDP)
print(dh.compose(scan.guarantee, scan.guarantee))

tree = dh.AdaptiveTree(epsilon=1, bins=24)
tree.release(np.arange(24))

labels = dh.LabelCounts.from_counts(["a", "b"], [30, 2], max_labels=1, max_count=1)
assert_type(labels, dh.LabelCounts)

ledger = dh.Ledger.open("clinic.ledger")
assert_type(ledger, dh.Ledger)
