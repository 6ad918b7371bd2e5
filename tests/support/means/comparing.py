"""How mechanisms for means are compared, on amounts that may be looked at."""

from collections.abc import Mapping
from typing import Any

from dphist.document.compared import (
    BLUE,
    Case,
    Comparing,
    Contender,
    DataFile,
    Given,
    Measure,
    Run,
    compute_digest,
    make_run,
)
from dphist.document.options import Needs, Option, whole
from tests.support.means.amounts import Amounts
from tests.support.means.mechanism import NoisyMean


class MeansCase(Case):
    """Amounts, and the mechanisms for their mean."""

    measures = (Measure("error of the mean", "units", "The distance of the mean."),)

    @property
    def facts(self) -> Mapping[str, str]:
        """Number of amounts."""
        return {"amounts": f"{self.opened.records:,}"}

    @property
    def digest(self) -> str:
        """Names the sums."""
        return compute_digest(str(n).encode() for n in (self.opened.total, self.opened.records))

    def list_known(self) -> Mapping[str, Given]:
        """Return the maximum, which is public."""
        return {"most": Given(self.opened.most)}

    def list_published(self) -> list[Contender]:
        """Return the only mechanism."""
        return [self.contender("NoisyMean", NoisyMean, BLUE)]

    def run(self, mechanism: Any) -> Run:
        """Return what releases the mean once."""
        mean = self.opened.total / max(self.opened.records, 1)
        return make_run(
            lambda: mechanism.release(self.data), lambda value: [abs(value.mean - mean)]
        )


COMPARING = Comparing(
    title="Mechanisms for means",
    data="Amounts",
    takes=lambda data: isinstance(data, Amounts),
    case=MeansCase,
    file=DataFile(
        option=Option(
            "amounts",
            "one amount a line: means",
            "FILE",
            rules=[Needs(["most"], "the maximum of an amount")],
        ),
        columns=[Option("most", "maximum of an amount, with --amounts", "M", whole)],
        read=Amounts.read,
    ),
)
