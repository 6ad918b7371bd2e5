"""How means are audited: neighbors, and what a release states."""

import random
from collections.abc import Iterator

from dphist.document.audited import AuditedClass, Auditing, Pair, Statement
from tests.support.means.amounts import Amounts
from tests.support.means.mean import Mean
from tests.support.means.mechanism import NoisyMean


class AmountNeighbors:
    """One more amount, as small and as large as amounts are."""

    def __init__(self, mechanism: NoisyMean) -> None:
        self.most = mechanism.most

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases."""
        for name, amounts in {"no amounts": [], "a few": [0, self.most, self.most // 2]}.items():
            for added in (self.most, 0):
                yield self._made(f"{name}; one more of {added}", [added, *amounts])

    def vary(self, name: str, raw: list[int], draw: random.Random) -> Iterator[Pair]:
        """Add an amount to both."""
        yield self._made(f"{name}, beside others", [*raw, draw.randint(0, self.most)])

    def _made(self, name: str, raw: list[int]) -> Pair:
        """Return amounts without and with the first."""
        return Pair(name, Amounts(raw[1:], self.most), Amounts(raw, self.most), raw)


def compared(mean: Mean) -> tuple[int, int]:
    """Return what tells two means apart."""
    return mean.total, mean.records


AUDITING = Auditing(
    neighbors=AmountNeighbors,
    compared=compared,
    mechanisms={
        NoisyMean: AuditedClass(
            small={"most": 3},
            statement=Statement(lambda _, release, _data: compared(release.value)),
        )
    },
)
