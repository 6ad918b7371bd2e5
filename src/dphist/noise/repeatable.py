"""A fixed stream of random bytes, for trying a mechanism on public data only.

An expected error is computed by running a mechanism on a public histogram. With a fixed stream it
is always the same number: what a plan states can be computed again.
"""

import hashlib
from itertools import count

from dphist.noise.inversion import Source


def repeatable_source() -> Source:
    """Return a fixed stream of bytes; noise from it protects nobody."""
    blocks = count()

    def draw(size: int) -> bytes:
        return hashlib.shake_128(next(blocks).to_bytes(8, "big")).digest(size)

    return draw
