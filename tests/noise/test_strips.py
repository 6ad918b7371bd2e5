"""Which proposals become samples: accepted ones, each once (proofs/noise.md, Lemma 1)."""

import itertools

import numpy as np
import pytest

from dphist.noise import strips
from dphist.noise.strips import Undecided

SURE, KEPT, REJECTED = "sure", "kept", "rejected"


class Numbered:
    """A law whose proposals are 0, 1, 2, ..., of which it is written down what becomes of each.

    What has no place in the list is kept, so that there is an end.
    """

    rejected = 1 / 3

    def __init__(self, fates: tuple[str, ...]) -> None:
        self.fates, self.proposed = fates, 0

    def fate(self, number: int) -> str:
        return self.fates[number] if number < len(self.fates) else KEPT

    def first(self, block: np.ndarray, _source: object) -> Undecided:
        block[:] = np.arange(self.proposed, self.proposed + len(block))
        self.proposed += len(block)
        open_ = np.flatnonzero([self.fate(number) != SURE for number in block.tolist()])
        return Undecided(open_, np.zeros(len(open_), np.uint16), block[open_])

    def decide(self, undecided: Undecided, _source: object) -> tuple[np.ndarray, np.ndarray]:
        fates = [self.fate(number) for number in undecided.numbers.tolist()]
        return undecided.numbers, np.array([fate == KEPT for fate in fates], bool)


def check_samples(samples: list[int], law: Numbered) -> None:
    assert len(set(samples)) == len(samples)
    assert all(law.fate(number) != REJECTED for number in samples)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("spares", [0, 1, 2, 3])
def test_of_any_rejections_no_rejected_proposal_is_a_sample(
    size: int, spares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All fates of all proposals, in blocks of two; also where there are too few spare ones."""
    monkeypatch.setattr(strips, "_BLOCK", 2)
    for fates in itertools.product([SURE, KEPT, REJECTED], repeat=size + spares):
        law, out = Numbered(fates), np.empty(size + spares, np.int64)
        strips.fill(law, out, size, lambda _: b"")
        check_samples(out[:size].tolist(), law)
        # A sample that needs no other stays in its place: which is replaced tells of no other.
        for place in range(size):
            assert law.fate(place) == REJECTED or out[place] == place


@pytest.mark.parametrize("seed", range(20))
def test_of_many_pieces_no_rejected_proposal_is_a_sample(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spare proposals of a piece stand where the next begins."""
    monkeypatch.setattr(strips, "_BLOCK", 8)
    monkeypatch.setattr(strips, "_PIECE", 20)
    chosen = np.random.default_rng(seed).choice([SURE, KEPT, REJECTED], 300, p=[0.4, 0.2, 0.4])
    law = Numbered(tuple(chosen.tolist()))
    check_samples(strips.samples(law, 95, lambda _: b"").tolist(), law)
