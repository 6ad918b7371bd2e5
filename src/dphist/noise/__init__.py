"""Exact samplers over the operating system's randomness.

The samplers keep no random state. Each call reads from the operating system, so forked processes
and threads never share or repeat noise.
"""

from dphist.noise.gaussian import rounded_gaussian
from dphist.noise.geometric import two_sided_geometric
from dphist.noise.inversion import Source

__all__ = ["Source", "rounded_gaussian", "two_sided_geometric"]
