"""No randomness is shared or repeated: under fork, between threads, from call to call."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dphist.noise import rounded_gaussian, two_sided_geometric

SAMPLERS = [
    lambda: two_sided_geometric("0.001", 64).tolist(),
    lambda: rounded_gaussian(1000, 64).tolist(),
]


def in_forks(sample: Callable[[], list[int]], forks: int = 4) -> list[list[int]]:
    """Run `sample` in forked children, and once in the parent."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=lambda: queue.put(sample())) for _ in range(forks)]
    for child in children:
        child.start()
    results = [queue.get() for _ in children]
    for child in children:
        child.join()
    return [*results, sample()]


def all_different(results: list[list[int]]) -> bool:
    return len({tuple(result) for result in results}) == len(results)


def test_forked_workers_draw_different_noise() -> None:
    for sample in SAMPLERS:
        sample()  # whatever a first call might leave behind exists before the fork
        assert all_different(in_forks(sample))


def test_a_buffer_that_survives_a_fork_would_be_noticed() -> None:
    """Power: bytes fetched before the fork and used after it give equal noise."""
    buffer = os.urandom(1 << 12)
    assert not all_different(
        in_forks(lambda: two_sided_geometric(1, 64, buffer_of(buffer)).tolist())
    )


def buffer_of(content: bytes) -> Callable[[int], bytes]:
    position = 0

    def draw(size: int) -> bytes:
        nonlocal position
        position += size
        return content[position - size : position]

    return draw


def test_threads_draw_different_noise() -> None:
    for sample in SAMPLERS:
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _, draw=sample: draw(), range(200)))
        assert all_different(results)


def test_samples_of_one_call_are_uncorrelated(seeded) -> None:
    """Lag-1 correlation of 400,000 samples within 5 standard errors of zero."""
    samples = two_sided_geometric("0.01", 400_000, seeded(1)).astype(float)
    lagged = float(np.corrcoef(samples[:-1], samples[1:])[0, 1])
    assert abs(lagged) < 5 / np.sqrt(len(samples))
