"""A kind of somebody else's says how its mechanisms are audited, and the audit asks it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist import noise
from dphist.document.audited import AuditedClass, Auditing, Pair, Setup, Statement
from dphist.errors import ParameterError
from dphist.lab.auditing.named import everything, make_named, mechanisms
from dphist.lab.auditing.outcome import list_features, watch_run
from dphist.lab.auditing.subject import find_variants, make_pairs
from dphist.release import kind_names
from tests.support.report.mean_kind import kind_of_means


class Total:
    """The released value: nothing that an audit can look into by itself."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __repr__(self) -> str:
        return "Total"


@dataclass(frozen=True)
class NoisyTotal:
    """A noisy number of records; epsilon is claimed, and `paid` with noise."""

    epsilon: Fraction
    paid: Fraction

    noise_scale = 1
    description = reference = "Nothing."

    @property
    def guarantee(self) -> dh.PureDP:
        return dh.PureDP(self.epsilon)

    def epsilon_at(self, delta: object) -> Fraction:
        return self.epsilon

    def release(self, data: list[int], source: Any = None) -> dh.Release:
        drawn = noise.two_sided_geometric(self.paid, 1, source)
        return dh.Release(Total(int((drawn + len(data))[0])), self.guarantee, self)

    def decode(self, noisy: object) -> None:
        raise dh.UnsupportedError("nothing is kept")

    def expected_error(self, *public: object) -> float:
        return 1.0

    def intervals(self, release: dh.Release, level: float = 0.95) -> Any:
        return None


class RecordNeighbors:
    """A record more."""

    def __init__(self, mechanism: NoisyTotal) -> None:
        self.base = [0] * 3

    def pairs(self) -> Iterator[Pair]:
        yield Pair("a fourth record", self.base, [*self.base, 0], self.base)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        more = [*raw, draw.randrange(9)]
        yield Pair(f"{name}, and {len(more)} beside it", more, [*more, 0], more)


AUDITING = Auditing(
    neighbors=RecordNeighbors,
    compared=lambda total: {"number": total._number},
    mechanisms={
        NoisyTotal: AuditedClass(
            others={"of few": {}}, statement=Statement(lambda *given: [given[1].value._number])
        )
    },
)
CORRECT = NoisyTotal(Fraction(1), Fraction(1))
FAULTY = NoisyTotal(Fraction(1, 2), Fraction(1))


def register(auditing: Auditing | None) -> None:
    kind = replace(kind_of_means(Total, "total"), mechanism_type=NoisyTotal, auditing=auditing)
    dh.register(kind)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_names, "_REGISTERED", {})
    register(AUDITING)


def test_its_neighbors_are_those_that_the_kind_makes() -> None:
    (pair,) = make_pairs(CORRECT)
    assert pair == Pair("a fourth record", [0] * 3, [0] * 4)
    vary = find_variants(CORRECT)
    assert vary is not None
    assert [len(each.other) for each in vary(pair, random.Random(1))] == [5]


def test_its_claims_are_replayed_and_refuted_by_what_its_releases_state() -> None:
    found = {each: dh.audit(each, seconds=1, layers=["replay"]) for each in (CORRECT, FAULTY)}
    assert not found[CORRECT].refuted
    assert not found[CORRECT].objects
    assert found[FAULTY].refuted
    assert found[FAULTY].certain
    assert "a fourth record" in found[FAULTY].neighbours


def test_a_subclass_states_nothing() -> None:
    other = type("Other", (NoisyTotal,), {})(Fraction(1, 2), Fraction(1))
    found = dh.audit(other, seconds=1, layers=["replay"])
    assert found.objects
    assert not found.refuted


def test_what_it_releases_is_compared_as_the_kind_says() -> None:
    shown = watch_run(lambda data: Total(len(data)), [0, 0])
    assert list_features(shown)["number of the outcome"] == 2
    found = dh.audit(FAULTY, seconds=60, layers=["statistical"])
    assert found.refuted
    assert "number" in found.event


def test_its_mechanisms_have_names_after_those_of_dphist() -> None:
    assert list(mechanisms())[-2:] == ["RegionalProfiles", "NoisyTotal"]
    assert {"NoisyTotal", "NoisyTotal of few"} < set(everything())
    with pytest.raises(ParameterError, match="RegionalProfiles, NoisyTotal, or package"):
        make_named("Scan", epsilon=1, delta=None, parameters={})


def test_a_kind_says_how_its_mechanisms_run_and_what_is_not_replayed() -> None:
    del kind_names._REGISTERED["total"]
    register(
        replace(
            AUDITING,
            run=lambda mechanism: lambda data: mechanism.release(data).value,
            setup=lambda _: Setup(why_not="it is as it is"),
        )
    )
    found = dh.audit(CORRECT, seconds=1)
    said = {each.layer: each for each in found.layers}
    assert said["exact"].verdict == "does not apply"  # who knows where its noise is from
    assert said["replay"].covered == "It is as it is."


def test_without_a_declaration_neighbors_are_given() -> None:
    del kind_names._REGISTERED["total"]
    register(None)
    with pytest.raises(ParameterError, match="must be given: no kind of dphist says"):
        dh.audit(CORRECT)
    assert find_variants(CORRECT) is None
    pair = (np.zeros(3).tolist(), np.zeros(4).tolist())
    assert dh.audit(FAULTY, [pair], seconds=1, layers=["replay"]).objects
