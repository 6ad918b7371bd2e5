"""What an audit is about and what it says: the claim, what each layer found, and the result."""

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from dphist.document.audited import Pair
from dphist.errors import ParameterError
from dphist.parameters import Exact, exact_number, probability
from dphist.privacy import ApproxDP, Guarantee, PureDP
from dphist.privacy.conversion import pure_to_rho, rho_to_epsilon
from dphist.release.maker import find_target
from dphist.shown import show_by

_ROUNDING = 1 + Fraction(1, 10**9)  # of floats in which callers state what noise costs


@dataclass(frozen=True)
class Claim:
    """An epsilon at a delta.

    Attributes
    ----------
    exact_epsilon, exact_delta : the claim, or what a guarantee in rho implies.
    guarantees : those of a mechanism; empty where the caller states the claim.
    """

    exact_epsilon: Fraction
    exact_delta: Fraction
    guarantees: tuple[Guarantee, ...] = ()

    @property
    def epsilon(self) -> float:
        """The claimed epsilon, rounded up: no true claim is refuted by rounding it."""
        return math.nextafter(float(self.exact_epsilon), math.inf)

    @property
    def delta(self) -> float:
        """The claimed delta."""
        return float(self.exact_delta)

    def covers(self, cost: tuple[Fraction, Fraction]) -> bool:
        """Whether it covers noise that costs so much epsilon, and beside that so much rho."""
        epsilon, rho = cost
        if self.guarantees:
            return any(_covers(guarantee, epsilon, rho) for guarantee in self.guarantees)
        if rho and not self.exact_delta:
            return False
        more = rho_to_epsilon(rho, self.exact_delta) if rho else 0
        return epsilon + more <= self.exact_epsilon * _ROUNDING


def _covers(guarantee: Guarantee, epsilon: Fraction, rho: Fraction) -> bool:
    if isinstance(guarantee, PureDP):
        return not rho and epsilon <= guarantee.epsilon
    if isinstance(guarantee, ApproxDP):
        more = rho_to_epsilon(rho, guarantee.delta) if rho else 0
        return epsilon + more <= guarantee.epsilon
    return rho + (pure_to_rho(epsilon) if epsilon else 0) <= guarantee.rho


def find_claim(mechanism: Any, epsilon: Exact | None, delta: Exact) -> Claim:
    """Return what the caller states, or else what the mechanism claims.

    Raises
    ------
    ParameterError
        If epsilon or delta are out of range, or missing and the mechanism does not say them.
    """
    off = probability(delta, "delta")
    if epsilon is not None:
        stated = exact_number(epsilon, "epsilon")
        if stated < 0:
            raise ParameterError("epsilon", "must be at least 0")
        return Claim(stated, off)
    if mechanism is None:
        raise ParameterError("epsilon", "must be given: a callable states no guarantee")
    guarantee, target = mechanism.guarantee, find_target(mechanism)
    direct = getattr(mechanism, "epsilon_guarantee", None)
    held = (guarantee,) if direct is None else (guarantee, direct)
    if target is not None and target.releases == 1:
        guarantee = target.guarantee
    if isinstance(guarantee, PureDP):
        return Claim(guarantee.epsilon, Fraction(0), held)
    if isinstance(guarantee, ApproxDP):
        return Claim(guarantee.epsilon, guarantee.delta, held)
    if not off and isinstance(direct, PureDP):
        return Claim(direct.epsilon, Fraction(0), held)
    if not off:
        raise ParameterError("delta", "must be given: the guarantee is stated in rho")
    found = mechanism.epsilon_at(off)
    if found is None:
        raise ParameterError("delta", "must be larger than that of the guarantee")
    return Claim(found, off, held)


LAYERS = ("exact", "replay", "statistical")
"""All layers, the strongest first."""
DELTAS = (0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3)
"""Where the curve of a result is found."""


@dataclass(frozen=True)
class LayerReport:
    """What one layer of an audit found, and what it covered.

    Attributes
    ----------
    layer : "exact", "replay" or "statistical".
    verdict : "refuted", "objects" (replay alone: the noise does not account for the claim, and
        nothing shows that the claim is wrong), "holds" (for what was covered), "not refuted",
        "does not apply" or "interrupted".
    covered : what was covered, and what was found, in words.
    """

    layer: str
    verdict: str
    covered: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.verdict}. {self.covered}"


@dataclass(frozen=True)
class Finding:
    """An event that is likelier on one of two neighbors, by known laws or by counts of runs.

    Attributes
    ----------
    layer : which found it: "exact", "replay" or "statistical".
    pair : the neighbors; `swapped` if the event is likelier on the second.
    epsilon : the pair exceeds it at the audit's delta.
    curve : pairs (delta, epsilon).
    event : in words.
    """

    layer: str
    pair: Pair
    swapped: bool
    epsilon: float
    curve: tuple[tuple[float, float], ...]
    event: str

    @property
    def neighbors(self) -> str:
        """The pair, and on which of the two the event is likelier, in words."""
        side = "second" if self.swapped else "first"
        return f"{self.pair.name}; the event is likelier on the {side}"


@dataclass(frozen=True)
class LayerResult:
    """What a layer returns.

    Attributes
    ----------
    finding : what is likelier on one of two neighbors; None if nothing is.
    sampled : whether runs were sampled for it, so that it is wrong with a probability.
    """

    report: LayerReport
    finding: Finding | None = None
    sampled: bool = False


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    name : of what was audited.
    refuted : whether the claim is wrong, with the stated confidence.
    epsilon, delta : the claim.
    epsilon_lower : the true epsilon at `delta` is at least this, with the stated confidence.
    curve : pairs (delta, epsilon), each a lower bound; all hold together.
    event : what was counted, in words.
    neighbours : the two data sets, in words, and on which of them the event is likelier.
    hits, other_hits, runs : how often the event happened in as many runs on each of the two.
    layer : which layer found it: "exact", "replay" or "statistical".
    samples : runs in all.
    confidence : probability with which `epsilon_lower` and `curve` hold, unless they are certain.
    power : the least true epsilon that such runs refute with a probability of .9 or more, for an
        event as likely as this one; None if there is none.
    covered : what was tried, in words.
    stopped : why the audit ended.
    seconds : how long it took.
    layers : what each layer found and covered, the strongest first.
    warning : what the runs themselves give reason to doubt, in words; empty for most mechanisms.
    """

    name: str
    refuted: bool
    epsilon: float
    delta: float
    epsilon_lower: float
    curve: tuple[tuple[float, float], ...]
    event: str
    neighbours: str
    hits: int
    other_hits: int
    runs: int
    layer: str
    samples: int
    confidence: float
    power: float | None
    covered: str
    stopped: str
    seconds: float
    layers: tuple[LayerReport, ...] = ()
    warning: str = ""

    @property
    def objects(self) -> bool:
        """Whether the noise that was asked for does not account for the claim."""
        return any(each.verdict == "objects" for each in self.layers)

    @property
    def certain(self) -> bool:
        """Whether `epsilon_lower` and `curve` follow from known laws alone, not from runs."""
        return self.layer == "exact" or (self.layer == "replay" and not self.delta)

    def __str__(self) -> str:
        return str(show_by("format_text", self))

    def to_json(self) -> str:
        """Return the result as a JSON object."""
        content: dict[str, Any] = asdict(self)
        return json.dumps(content)
