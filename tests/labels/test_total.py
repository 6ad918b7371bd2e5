"""The total over all labels, shown or not, which the numbers of users by labels hold."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.cells import make_cells
from dphist.labels.bounding import read_users
from dphist.noise.law import Drawing, NoiseLaw
from dphist.release.users_by_size import UsersBySize
from dphist.report import make_json, report_html, summary_text


def sizes(seed: int, users: int = 400) -> list[int]:
    draw = random.Random(seed)
    return [min(int(draw.paretovariate(0.8)), 60) for _ in range(users)]


def in_cells(found: list[int], cells: tuple[int, ...]) -> list[int]:
    places = np.searchsorted(cells, found, side="right") - 1
    return np.bincount(places, minlength=len(cells)).tolist()


def law(scale: float) -> NoiseLaw:
    return NoiseLaw("two-sided geometric", scale, Drawing.WHOLE)


@pytest.mark.parametrize("bound", [1, 2, 5, 10, 47])
def test_the_interval_holds_whatever_sizes_a_cell_has(bound: int) -> None:
    """With next to no noise it is that of the smallest and the largest sizes of each cell."""
    cells = make_cells(48, bound)
    ends = [*(start - 1 for start in cells[1:]), 10**6]
    for found in (*map(sizes, range(20)), [*cells] * 9, ends * 9):
        users = UsersBySize(cells, tuple(in_cells(found, cells)), law(1e-3), bound)
        kept = users.total_kept()
        true = sum(min(size, bound) for size in found)
        assert kept.low <= true <= kept.high
        if bound <= 2:  # each size up to the bound has a cell of its own
            assert kept.low == kept.value == kept.high == true


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("bound", [2, 10])
def test_each_end_holds_with_its_chance(noise: Any, bound: int) -> None:
    """The worst sizes of the cells for an end, so that only the margin of the width is left."""
    made = dh.ThresholdHistogram(
        epsilon="0.5", delta="1e-6", max_labels=bound, noise=noise, users_by_labels=30
    )
    cells, runs = make_cells(30, bound), 2000
    ends = [*(start - 1 for start in cells[1:]), cells[-1]]
    truth = np.arange(40, 40 - len(cells), -1)
    source = random.Random(5).randbytes
    missed = [0, 0]
    for _ in range(runs):
        noisy, _ = made._noise_of_users().add(truth, None, source)
        kept = UsersBySize(cells, tuple(noisy.tolist()), made._noise_of_users().law, bound)
        found = kept.total_kept()
        missed[0] += found.low > truth @ np.minimum(cells, bound)
        missed[1] += found.high < truth @ np.minimum(ends, bound)
        assert found.low <= found.value <= found.high
    most = runs * 0.025 + 5 * (runs * 0.025) ** 0.5
    assert max(missed) <= most


def release(max_count: int = 1) -> dh.Release:
    rows = [(f"u{user}", f"label {n}") for user, size in enumerate(sizes(3)) for n in range(size)]
    who, labels = zip(*rows, strict=True)
    bounds: dict[str, Any] = {"max_labels": 5, "max_count": max_count, "users_by_labels": 50}
    counts = dh.LabelCounts.from_table(
        pa.table({"who": who, "label": labels}), label="label", user="who", **bounds
    )
    return dh.ThresholdHistogram(epsilon=2, delta="1e-6", **bounds).release(counts)


def test_pages_state_the_total_beside_what_is_shown() -> None:
    made = release()
    users = read_users(made)
    assert users is not None
    total = users.total_kept()
    assert total.low <= sum(min(size, 5) for size in sizes(3)) <= total.high
    shown = int(made.value.counts.sum())
    for page in (summary_text(made), report_html(made)):
        said = " ".join(page.split())
        assert f"shown or not; 95 % interval {total.low:,} to {total.high:,}" in said
        rest = max(total.value - shown, 0)
        assert f"the counts shown add up to {shown:,}, and about {rest:,} are not in them" in said
    assert make_json(made)["bounding"]["pairs_kept"] == [total.value, total.low, total.high]
    several = " ".join(summary_text(release(max_count=2)).split())
    assert "pairs of a user and a label that count, shown or not" in several
    assert "the counts shown add up to" not in several  # these are records, and no pairs


def test_noise_below_zero_is_no_total() -> None:
    found = UsersBySize((1, 2, 3), (-5, -9, -2), law(1.0), 2).total_kept()
    assert (found.low, found.value) == (0, min(found.high, 0))
