"""Questions to tables of labels: counts, sums and shares, with intervals; by real mechanisms."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.errors import ParameterError, UnsupportedError
from dphist.labels.answers import geometric_reach

NAMES = [f"gene {number}" for number in range(40)]
TRUE = dict(zip(NAMES, (np.geomspace(900, 8, 40)).astype(int).tolist(), strict=True))
SETS = {"one": NAMES[:1], "near the threshold": NAMES[22:30], "many": NAMES[:15], "all": NAMES}
RUNS = 200


def counted(max_labels: int = 2) -> dh.LabelCounts:
    bounds: Any = {"max_labels": max_labels, "max_count": 1, "only_adds": True}
    return dh.LabelCounts.from_counts(list(TRUE), list(TRUE.values()), **bounds)


def made(**more: Any) -> Any:
    return dh.ThresholdHistogram(**{"epsilon": "0.2", "max_labels": 2, **more})


MECHANISMS = {
    "threshold": made(delta="1e-4"),
    "threshold, Gaussian": made(delta="1e-4", noise="gaussian"),
    "listed": made(labels=NAMES),
    "listed, Gaussian": made(labels=NAMES, noise="gaussian"),
    "listed, correlated": made(labels=NAMES, noise="gaussian", correlated=True),
}


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_intervals_hold_counts_sums_and_shares(mechanism: Any) -> None:
    """At 90 %: 160 or more of 200 hold, but for one in 100,000 such tests."""
    held = dict.fromkeys([*SETS, "share", "listed share", "reach"], 0)
    for _ in range(RUNS):
        table = mechanism.release(counted()).value
        for name, labels in SETS.items():
            found, true = table.sum(labels, 0.9), sum(TRUE[label] for label in labels)
            held[name] += found.low <= true <= found.high
            assert found.value is None or found.low <= found.value <= found.high
            share = table.share(labels, of=10_000, level=0.9)
            assert (share.low, share.high) == (found.low / 10_000, found.high / 10_000)
        if mechanism.labels is not None:
            part = table.share(NAMES[:5], level=0.9)
            true_share = sum(list(TRUE.values())[:5]) / sum(TRUE.values())
            held["listed share"] += part.low <= true_share <= part.high
            assert part.high - part.low < 0.25
    sets = [*SETS, *(["listed share"] if mechanism.labels is not None else [])]
    assert all(held[name] >= 160 for name in sets), held


@pytest.mark.parametrize("labels", [1, 2, 30])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(400)])
def test_chernoff_s_bound_holds_by_the_exact_law(labels: int, scale: Fraction) -> None:
    """Against the exact law of the sum, by convolution; and it is not much too wide."""
    ratio, size = math.exp(-1 / float(scale)), 60 * math.ceil(scale)
    places = np.arange(-size, size + 1)
    one = ratio ** np.abs(places)
    law = np.array([1.0])
    for _ in range(labels if size * labels < 5000 else 1):
        law = np.convolve(law, one / one.sum())
    many = (len(law) - 1) // (2 * size)
    total = np.abs(np.arange(len(law)) - len(law) // 2)
    for level in (0.5, 0.95, 0.999):
        reach = geometric_reach(scale, many, level)
        assert law[total > reach].sum() <= 1 - level
        assert law[total > reach / 2].sum() > 1 - level or level < 0.9 or scale < 1


def test_a_label_that_is_not_shown_is_not_0() -> None:
    mechanism = made(delta="1e-4")
    table = mechanism.release(counted()).value
    threshold, width = mechanism.threshold, mechanism.half_width()
    with pytest.raises(ParameterError, match=f"at most {threshold + 1}, with noise.*see interval"):
        table.count("no such gene")
    assert table.interval("no such gene") == (0, threshold + 1 + width)
    assert table.count(NAMES[0]) - width <= table.interval(NAMES[0])[1]
    some = table.sum([NAMES[0], "no such gene"])
    assert some.value is None
    assert not some.is_known
    assert "1 of 2 labels are not shown" in repr(some)
    for wrong in ([], ["a", "a"]):
        with pytest.raises(ParameterError, match="labels must be"):
            table.sum(wrong)
    with pytest.raises(ParameterError, match="of must be given"):
        table.share([NAMES[0]])
    listed = made(labels=NAMES).release(counted()).value
    for ask in (listed.count, listed.interval, lambda label: listed.sum([label])):
        with pytest.raises(ParameterError, match="listed labels"):
            ask("no such gene")
    assert tuple(listed.share(NAMES)) == (1, 1, 1)


def test_what_no_counts_or_no_threshold_say(tmp_path: Any) -> None:
    top = dh.TopLabels(epsilon=1, delta="1e-4", k=3, max_labels=2).release(counted()).value
    with pytest.raises(UnsupportedError, match="without counts"):
        top.count(NAMES[0])
    few = dh.TopThreshold(epsilon=1, delta="1e-4", k=5, max_labels=2).release(counted())
    assert few.value.interval("no such gene") == (0, math.inf)
    with pytest.raises(ParameterError, match="unknown count"):
        few.value.count("no such gene")
    release = made(delta="1e-4").release(counted())
    release.save(tmp_path / "r.json")
    again = dh.Release.load(tmp_path / "r.json").value
    assert again.interval(NAMES[0]) == release.value.interval(NAMES[0])
    assert again.sum(NAMES).low == release.value.sum(NAMES).low


def test_one_label_and_several_are_not_mixed_up() -> None:
    """The letters of a text were four labels that are not shown: from 0 to four thresholds."""
    table = MECHANISMS["threshold"].release(counted()).value
    for ask in (table.count, table.interval):
        with pytest.raises(ParameterError, match="label must be one label; sum and share take sev"):
            ask(NAMES[:2])
    for several in ("gene 1", b"gene 1", 7):
        for asked in (table.sum, lambda labels: table.share(labels, of=1_000)):
            with pytest.raises(
                ParameterError, match=r"labels must be several labels, such as \['te"
            ):
                asked(several)
    with pytest.raises(ParameterError, match="label must be one label"):
        table.sum([NAMES[:2]])
    assert table.sum(iter(NAMES[:2])) == table.sum(NAMES[:2])
