"""Replaying: what a mechanism asks of its noise on one data set, and on a neighbor.

`record` runs a mechanism and keeps every request for noise (sampler, parameter, size), what was
drawn, and the exact number that each draw was added to. `replay` runs it on other data such that
the same *noisy* numbers come out: where a draw is added to an exact number, the recorded sum is
returned in its place. If all randomness comes from these draws, then for any two data sets

- the same requests are made in the same order, for they are functions of noisy numbers alone;
- the same is published, for it is a function of noisy numbers alone;
- and, for neighbors, the exact numbers differ by so little that `loss` is within the guarantee.

Nothing in a mechanism of dphist needs to be changed for it, and its size does not matter. A sampler
of somebody else's is wrapped once: `replayable`. The samplers themselves are not looked at.
"""

from dphist.document.audited import Told
from dphist.lab.auditing.replay.session import (
    SAMPLERS,
    loss_of_neighbours,
    record,
    replay,
    replayable,
)
from dphist.lab.auditing.replay.transcript import (
    DivergedError,
    Drawn,
    Entry,
    Request,
    Transcript,
    loss,
)

__all__ = [
    "SAMPLERS",
    "DivergedError",
    "Drawn",
    "Entry",
    "Request",
    "Told",
    "Transcript",
    "loss",
    "loss_of_neighbours",
    "record",
    "replay",
    "replayable",
]
