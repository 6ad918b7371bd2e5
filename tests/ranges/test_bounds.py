"""Mechanisms for bins protect no data whose bound is above their own, and state whose it is."""

from typing import Any

import pytest

import dphist as dh
from dphist.ranges import RangesMechanism

ROWS = {"who": [1, 1, 1, 2, 3, 3], "x": [0, 0, 1, 3, 9, None]}
MECHANISMS: list[type[Any]] = [dh.LeafCounts, dh.HierarchicalTree, dh.AdaptiveTree]

each = pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)


def counts_of(max_records: int | None) -> dh.BinnedCounts:
    import pandas as pd

    user = None if max_records is None else "who"
    table = pd.DataFrame(ROWS)
    return dh.bin_counts(table, column="x", edges=[0, 2, 4], user=user, max_records=max_records)


@each
def test_a_larger_bound_is_refused_before_noise_is_drawn(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def source(size: int) -> bytes:
        drawn.append(size)
        return bytes(size)

    def ran(self: RangesMechanism, *_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(kind, "_run", ran)
    for sensitivity in (1, 2):
        mechanism = kind(epsilon=1, bins=2, sensitivity=sensitivity)
        with pytest.raises(dh.BoundsError, match="sensitivity=3") as caught:
            mechanism.release(counts_of(3), source=source)
        assert str(sensitivity) in str(caught.value)
    assert drawn == []


@each
def test_a_release_states_the_unit(kind: type[Any]) -> None:
    for sensitivity in (2, 5):
        release = kind(epsilon=1, bins=2, sensitivity=sensitivity).release(counts_of(2))
        assert release.provenance == {"unit": dh.PrivacyUnit("user"), "max_records": "2"}
        again = dh.Release.from_json(release.to_json())
        assert again.provenance == release.provenance
        assert again == release


@each
def test_without_users_nothing_is_stated(kind: type[Any]) -> None:
    mechanism = kind(epsilon=1, bins=2, sensitivity=2)
    for data in (counts_of(None), [3, 1]):
        assert mechanism.release(data).provenance == {}
