"""The benchmarks of running counts: known variances, the search, the streams, the commands."""

import importlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.streams import __main__ as continual
from benchmarks.streams import design as continual_design
from benchmarks.streams import published
from benchmarks.streams import real_streams as streams
from benchmarks.streams import speed as continual_speed
from benchmarks.streams import unbounded as continual_unbounded
from benchmarks.streams.measuring import claimed, simulate
from benchmarks.streams.searching import Effort, buffered, stationary

from dphist.streams.counters.design import design

HORIZON = 64


def noise_by_hand(horizon: int, weights: list[float]) -> np.ndarray:
    """Variances of the counts where a count adds up blocks with these variances."""
    return np.array(
        [
            len(weights) * sum(weights[k] for k in range(len(weights)) if t >> k & 1)
            for t in range(1, horizon + 1)
        ]
    )


def test_known_values_at_a_horizon_of_65536() -> None:
    horizon = 2**16
    binary, honaker, root = (
        one(horizon) for one in (published.binary, published.honaker, published.square_root)
    )
    assert (round(binary.mean), binary.largest) == (136, 272)
    assert (round(honaker.mean), round(honaker.largest)) == (75, 150)
    assert (round(root.mean, 2), round(root.largest, 2)) == (19.66, 21.13)
    assert round(published.lower_bound(horizon), 1) == 17.9


def test_honaker_combines_a_block_with_its_halves() -> None:
    """By least squares: the block's own sum, and its halves as these were estimated."""
    weights = [1.0]
    for _ in range(6):
        weights.append(1 / (1 + 1 / (2 * weights[-1])))
    by_hand = noise_by_hand(HORIZON, weights)
    assert published.honaker(HORIZON).largest == pytest.approx(by_hand.max())
    assert published.honaker(HORIZON).mean == pytest.approx(by_hand.mean())


def test_the_square_root_is_a_factorization() -> None:
    k = np.arange(1, HORIZON)
    column = np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))
    root = np.array(
        [[column[i - j] if i >= j else 0.0 for j in range(HORIZON)] for i in range(HORIZON)]
    )
    assert root @ root == pytest.approx(np.tril(np.ones((HORIZON, HORIZON))))
    variances = (root**2).sum(axis=1) * (root[:, 0] ** 2).sum()
    assert published.square_root(HORIZON).mean == pytest.approx(variances.mean())


def test_the_square_root_of_long_streams_is_that_of_short_ones() -> None:
    for horizon in (64, 256, 2**16):
        found = continual_unbounded.square_root(horizon)
        assert found == pytest.approx(published.square_root(horizon).largest, rel=1 / horizon**2)


def test_the_lower_bound_is_the_nuclear_norm() -> None:
    nuclear = np.linalg.svd(np.tril(np.ones((HORIZON, HORIZON))), compute_uv=False).sum()
    assert published.lower_bound(HORIZON) == pytest.approx((nuclear / HORIZON) ** 2)


def test_searches_end_between_the_bound_and_what_they_began_from() -> None:
    ours, effort = design(HORIZON), Effort(1, 400)
    free = stationary(len(ours.decays), HORIZON, ours, effort)
    assert published.lower_bound(HORIZON) < free.cost <= ours.cost
    blt = buffered(2, HORIZON, effort)
    assert published.lower_bound(HORIZON) < blt.mean < blt.largest
    assert blt.largest == pytest.approx(published.square_root(HORIZON).largest, rel=0.02)


def test_stated_variances_of_the_binary_counter_are_the_published_ones() -> None:
    ours, known = claimed("binary", HORIZON), published.binary(HORIZON)
    assert (ours.mean, ours.largest) == pytest.approx((known.mean, known.largest))


@pytest.mark.parametrize("method", continual.METHODS)
def test_measured_variances_are_those_stated(method) -> None:
    """400 labels at 20 times: within 10 %, which noise of 0.7 or 1.3 times the scale is not."""
    found = simulate(method, HORIZON, labels=400, readings=20, seed=1)
    mean = found.measured.mean() / found.claimed.mean()
    assert 0.9 < mean < 1.1
    for planted in (0.7, 1.3):
        assert not 0.9 < mean * planted**2 < 1.1


# Commands.


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path))
    (tmp_path / "streams").mkdir()
    names = ["Rex", "Luna", None] * 300 + ["Bo"]
    pq.write_table(pa.table({"animal_name": names}), tmp_path / "streams" / "seattle_pets.parquet")
    return tmp_path


def test_streams_are_read(data) -> None:
    (stream,) = streams.real_streams()
    assert stream.name == "seattle_pets, animal_name"
    assert stream.events().num_rows == 901
    assert streams.true_counts(stream.events()) == {"Rex": 300, "Luna": 300, "Bo": 1}


@pytest.mark.verify
def test_errors_are_printed(data, capsys, monkeypatch) -> None:
    monkeypatch.setattr(continual, "TOTALS", (("1", "1e-6"),))
    monkeypatch.setattr(continual, "MOST_LABELS", (10,))
    monkeypatch.setattr(continual, "STREAM_EPSILONS", ("1",))
    asked = ["--bits", "4", "--labels", "20", "--readings", "5", "--threshold-bits", "7"]
    continual.main([*asked, "--runs", "1"])
    printed = capsys.readouterr().out
    for line in ("| dphist, autoregressive | ", "| 2^4, binary | 5 | ", "| (1, 1e-6), 2^7, 10 | "):
        assert line in printed
    assert "| seattle_pets, animal_name | 901 | 3 | 1 | 2.0 | " in printed


def test_streams_without_a_horizon_are_printed(capsys, monkeypatch) -> None:
    monkeypatch.setattr(continual_unbounded, "BITS", (6,))
    monkeypatch.setattr(continual_unbounded, "PURE_BITS", (8,))
    continual_unbounded.main()
    printed = capsys.readouterr().out
    assert "| 2^6 | 11.47 | 5.87 | 5.95 | 5.71 | 1.95 | 2.01 |" in printed
    assert "| 2^8 | 23 | 2 | 90 | 176 | 648 | 22 |" in printed


def test_missing_streams_are_said(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path / "absent"))
    continual.print_streams(1)
    assert "DPHIST_DATA" in capsys.readouterr().out


@pytest.mark.verify
def test_the_search_is_printed(capsys) -> None:
    continual_design.main(["--bits", "5", "--starts", "1", "--values", "100"])
    printed = capsys.readouterr().out
    assert "| 2^5 | 2 | " in printed
    assert "| free search | " in printed


def run_speed(monkeypatch) -> None:
    monkeypatch.setattr(continual_speed, "EVERY", 8)
    asked = ["--events", "20", "--labels", "10", "--turns", "1", "--sizes", "30", "--late", "5"]
    continual_speed.main(asked)


@pytest.mark.verify
def test_times_are_printed_without_dpcrpy(monkeypatch, capsys) -> None:
    monkeypatch.setattr(continual_speed, "has_dpcrpy", lambda: False)
    run_speed(monkeypatch)
    printed = capsys.readouterr().out
    assert "there are no ratios" in printed
    for line in ("| dphist, binary, on disk, update | 20 | ", "| 30, autoregressive | "):
        assert line in printed


@pytest.mark.verify
def test_times_beside_dpcrpy(monkeypatch, capsys) -> None:
    run_speed(monkeypatch)
    printed = capsys.readouterr().out
    assert f"| {continual_speed.REFERENCE} | 20 | " in printed
    assert "| dpcrpy, one mechanism a label | 4 | " in printed


@pytest.mark.verify
def test_dpcrpy_counts_what_it_is_fed() -> None:
    mechanism = continual_speed._binary_mechanism(8, 3)
    mechanism.noiMech.sigma = 0.0
    answers = [mechanism.dpRelease(np.eye(3)[code])[0].tolist() for code in (0, 2, 2, 1, 2)]
    assert answers == [[1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 1, 2], [1, 1, 3]]
    assert importlib.import_module("dpcrpy").BinMech is type(mechanism)
