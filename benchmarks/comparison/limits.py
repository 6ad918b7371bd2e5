"""Keeping one greedy release from ending a long run: its memory is bounded, not the machine's."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

MEMORY = 8.0  # GiB of addresses; Yahoo! with a draw a label takes 2.5 of real memory


@contextmanager
def memory_limit(gibibytes: float) -> Iterator[None]:
    """Make allocations beyond the limit raise MemoryError; the system would kill the process."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = int(gibibytes * 2**30)
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
