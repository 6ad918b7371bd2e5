"""Case: data of one kind, and how mechanisms for it are made, run and judged."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dphist.lab.comparing.contender import NOTHING, Contender
from dphist.lab.comparing.making import Given, given_to, shown_parameters
from dphist.lab.comparing.measuring import Run


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured of a release.

    Attributes
    ----------
    name : of its rows.
    unit : such as "records".
    meaning : what it is, in a sentence.
    root : whether the root of the mean over runs is stated; runs then give squares.
    larger_is_better : whether it is a success rather than an error.
    """

    name: str
    unit: str
    meaning: str
    root: bool = False
    larger_is_better: bool = False


class Case(ABC):
    """Data that mechanisms of one kind are compared on."""

    kind: ClassVar[str]
    measures: tuple[Measure, ...]
    data: Any

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """What a comparison says of the data: name and text."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Names the content of the data, whatever file it came from."""

    @abstractmethod
    def known(self) -> Mapping[str, Given]:
        """Return the parameters that follow from the data, by name."""

    @abstractmethod
    def published(self) -> list[Contender]:
        """Return all mechanisms of this kind that there are implementations of."""

    @abstractmethod
    def run(self, mechanism: Any) -> Run:
        """Return what releases these data once."""

    def foreseen(self, mechanism: Any) -> float | None:
        """Return about how long a release takes at least, in seconds; None if nothing tells."""
        return None

    def make(self, mechanism: Callable[..., Any], epsilon: Any, **parameters: Any) -> Any:
        """Return the mechanism that costs `epsilon` in all."""
        return mechanism(epsilon=epsilon, **parameters)

    def contender(
        self, name: str, mechanism: Callable[..., Any], color: str = "", dashed: bool = False
    ) -> Contender:
        """Return a contender of a class of mechanisms, or of a partial call of one.

        Raises
        ------
        ParameterError
            If it needs a parameter that does not follow from the data.
        """
        given = given_to(mechanism, self.known(), name)
        values = {parameter: each.value for parameter, each in given.items()}
        told = ", ".join(each.told for each in given.values() if each.told)
        return Contender(
            name,
            told or NOTHING,
            lambda epsilon, _: self.make(mechanism, epsilon, **values),
            color,
            dashed,
            shown_parameters(mechanism, values),
        )


def digest_of(parts: Iterable[bytes]) -> str:
    """Return a name of some content."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.hexdigest()[:16]
