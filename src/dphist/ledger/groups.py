"""Groups that share no user: their releases together cost what the most expensive one costs."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.errors import LedgerError, ParameterError
from dphist.ledger.amounts import Cost
from dphist.ledger.deferred import Deferred
from dphist.ledger.entries import canonical
from dphist.ledger.units import check_bounds, cost_for
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PrivacyUnit, PureDP
from dphist.privacy.guarantees import find_delta, find_rho

_FORMAT = "dphist groups"
_BEGINNING = json.dumps({"format": _FORMAT})[:-1]
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Group:
    """One of several groups: its value, what releases it, and its data, not opened yet."""

    name: str
    mechanism: Any
    data: Deferred


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of which the caller asserts that no user is in two; nothing looks it up.

    Attributes
    ----------
    parts : at least one, each with a name of its own.
    """

    parts: tuple[Group, ...]

    @classmethod
    def declare(cls, mechanism: Any, data: Mapping[str, Any], ledger: str) -> "Groups":
        """Check groups as they are declared, and the bounds of data that are not deferred.

        Parameters
        ----------
        mechanism : for all groups, or a mapping from their names.
        ledger : id of the ledger; data that another one guards are refused.

        Raises
        ------
        ParameterError
            If there are none, two have one name or the same data, or mechanisms are for others.
        """
        if not isinstance(data, Mapping) or not data:
            raise ParameterError("data", "must be a dictionary from the value of each group to it")
        names = [_check_name(name) for name in data]
        if len({_as_compared(name) for name in names}) != len(names):
            raise ParameterError(
                "data", "must not declare two groups with one value", "give each a value of its own"
            )
        if isinstance(mechanism, Mapping):
            if set(mechanism) != set(data):
                raise ParameterError("mechanism", "must have a mechanism for each group")
            mechanisms = [mechanism[name] for name in names]
        else:
            mechanisms = [mechanism] * len(names)
        if any(not callable(getattr(each, "release", None)) for each in mechanisms):
            raise ParameterError("mechanism", "must have a method release")
        parts = []
        for name, each in zip(names, mechanisms, strict=True):
            deferred = Deferred.of(data[name], ledger)
            if not isinstance(data[name], Deferred):
                check_bounds(each, deferred.open())
            parts.append(Group(name, each, deferred))
        _check_distinct(data, parts)
        return cls(tuple(parts))

    @property
    def names(self) -> list[str]:
        """The values of the groups."""
        return [each.name for each in self.parts]

    @property
    def about(self) -> str:
        """Which data, in public words, of the groups that say it; as for `Deferred`."""
        said = {each.name: each.data.about for each in self.parts if each.data.about}
        return canonical(said) if said else ""

    def cost_for(self, unit: PrivacyUnit, delta: Fraction, name: str) -> tuple[Guarantee, Cost]:
        """Return the guarantee and the cost of all releases together, for an account.

        Proof: docs/understand/proofs/ledger.md, Lemma 10.

        Raises
        ------
        LedgerError
            If the account protects several units together, or exchanged ones: two of them may be
            in two groups.
        """
        if unit.exchanged:
            raise LedgerError(
                f"the account {name!r} protects {unit}, who may be in two groups; release the "
                "groups one by one, or use an account for a unit that is added or removed"
            )
        if unit.at_most != 1:
            raise LedgerError(
                f"the account {name!r} protects {unit}, who may be in several groups; release the "
                "groups one by one, or use an account for one of them"
            )
        each = [
            cost_for(part.mechanism, part.data.protected, unit, delta, name) for part in self.parts
        ]
        return (
            _largest_guarantee([guarantee for guarantee, _ in each]),
            _largest_cost([cost for _, cost in each]),
        )

    def in_words(self, describe: Any) -> dict[str, Any]:
        """Return names and parameters of the mechanisms, for an entry."""
        said = {each.name: describe(each.mechanism) for each in self.parts}
        kinds = dict.fromkeys(words["name"] for words in said.values())
        return {"name": ", ".join(kinds), "groups": said}


def _largest_cost(costs: list[Cost]) -> Cost:
    """Return what bounds every one of some costs; a number that one does not state is unknown."""
    return Cost(
        _largest_known([each.epsilon for each in costs]),
        max(each.rho for each in costs),
        max(each.delta for each in costs),
        _largest_known([each.alone for each in costs]),
    )


def _largest_known(numbers: list[Fraction | None]) -> Fraction | None:
    known = [each for each in numbers if each is not None]
    return max(known) if len(known) == len(numbers) else None


def _largest_guarantee(guarantees: list[Guarantee]) -> Guarantee:
    """Return a guarantee that each of some has."""
    unit = guarantees[0].unit
    delta = max(find_delta(each) for each in guarantees)
    rho = max(find_rho(each) for each in guarantees)
    pairs = [each for each in guarantees if isinstance(each, PureDP | ApproxDP)]
    if len(pairs) == len(guarantees):
        epsilon = max(each.epsilon for each in pairs)
        return ApproxDP(epsilon, delta, unit) if delta else PureDP(epsilon, unit, rho)
    return ApproxZCDP(rho, delta, unit) if delta else ZCDP(rho, unit)


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ParameterError("data", "must name each group by one line of text")
    if len(name) > _LONGEST_NAME:
        raise ParameterError("data", f"must name groups by at most {_LONGEST_NAME} characters")
    return name


def _as_compared(name: str) -> str:
    """Return one text for all ways to write a value."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()


def _check_distinct(data: Mapping[str, Any], parts: list[Group]) -> None:
    """Refuse one object, or one description of data, as two groups: all its users are in both."""
    objects = [id(each) for each in data.values()]
    opened = [id(part.data.open()) for part in parts if not isinstance(data[part.name], Deferred)]
    about = [part.data.about for part in parts if part.data.about]
    if any(len(set(each)) != len(each) for each in (objects, opened, about)):
        raise ParameterError(
            "data", "must not have the same data in two groups", "declare them once"
        )


def to_text(texts: Mapping[str, str]) -> str:
    """Return the text that a ledger stores of the releases of groups."""
    return json.dumps({"format": _FORMAT, "format_version": 1, "releases": dict(texts)})


def read_texts(text: str) -> dict[str, str] | None:
    """Return the texts of the releases of groups; None if a text is that of one release."""
    if not text.startswith(_BEGINNING):
        return None
    found: dict[str, str] = json.loads(text)["releases"]
    return found
