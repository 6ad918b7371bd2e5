"""dh.compare on data of a kind that dphist does not have: all goes by what the kind declares."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

import dphist as dh
from dphist.document.compared import (
    BLUE,
    Case,
    Comparing,
    Contender,
    Given,
    Measure,
    Run,
    digest_of,
    run_of,
)
from dphist.document.kind import Kind
from dphist.release import kind_names
from tests.report.mean_kind import Mean, kind_of_means


class Heights(list[int]):
    """Data of the kind; a list, which the ranges of dphist take too."""


@dataclass(frozen=True)
class Shifted:
    """Releases a mean that is `far` too large."""

    epsilon: float
    limit: int
    far: float = 2.0
    guarantee = dh.PureDP(1)

    def release(self, data: Heights) -> Mean:
        return Mean(min(sum(data) / len(data), self.limit) + self.far)


class MeansCase(Case):
    measures = (Measure("error of the mean", "cm", "The distance of the mean."),)
    facts = {"heights": "3"}  # noqa: RUF012
    digest = digest_of([b"heights"])

    def known(self) -> Mapping[str, Given]:
        return {"limit": Given(max(self.opened), "tallest")}

    def published(self) -> list[Contender]:
        return [self.contender("Truth", partial(Shifted, far=0), BLUE)]

    def run(self, mechanism: Any) -> Run:
        mean = sum(self.opened) / len(self.opened)
        return run_of(partial(mechanism.release, self.data), lambda value: [abs(value.mean - mean)])


COMPARING = Comparing(
    title="Mechanisms for means",
    data="Heights",
    takes=lambda data: isinstance(data, Heights),
    case=MeansCase,
)
HEIGHTS = Heights([160, 170, 180])


@pytest.fixture
def kind() -> Iterator[Kind]:
    added: Kind = dh.register(replace(kind_of_means(), comparing=COMPARING))
    yield added
    del kind_names._REGISTERED[added.name]


@pytest.mark.usefixtures("kind")
def test_mechanisms_are_compared_as_the_kind_declares() -> None:
    found = dh.compare([Shifted], HEIGHTS, [1], published=True, seconds=5, most=2)
    assert [(row.mechanism, row.given, row.error, row.unit) for row in found] == [
        ("Truth", "tallest", 0, "cm"),
        ("Shifted", "tallest", 2, "cm"),
    ]
    assert found.kind == found.settings["kind"] == "mean"
    assert found.settings["data"] == MeansCase.digest
    assert str(found).startswith("Mechanisms for means, compared")
    assert "Heights         3" in str(found)
    assert "The distance of the mean" in found._repr_html_() + str(found)


def test_a_comparison_is_continued_with_data_of_the_kind(kind: Kind, tmp_path: Any) -> None:
    output = tmp_path / "found.csv"
    run = partial(dh.compare, [Shifted], epsilons=[1], seconds=5, most=2, output=output)
    assert run(HEIGHTS).rows == run(HEIGHTS).rows
    with pytest.raises(dh.ParameterError, match="data of another kind"):
        dh.compare([dh.LeafCounts], list(HEIGHTS), [1], output=output)


@pytest.mark.usefixtures("kind")
def test_data_of_no_kind_are_refused_and_the_kind_is_named() -> None:
    with pytest.raises(dh.ParameterError, match=r"^data must be a Profile, .*, or Heights$"):
        dh.compare([Shifted], {1: 2}, [1])


def test_a_kind_that_declares_nothing_is_not_compared(kind: Kind) -> None:
    kind_names._REGISTERED[kind.name] = replace(kind, comparing=None)
    with pytest.raises(dh.ParameterError, match=r"a sequence of events, each a sequence of labels"):
        dh.compare([Shifted], {1: 2}, [1])
