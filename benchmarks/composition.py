"""What many releases over unknown labels cost together, by three ways of adding up.

    python -m benchmarks.composition

Prints the tables of docs/understand/accounting.md and draws its figure to
benchmarks/out/composition.png. Nothing here reads data or draws noise; it takes some ten seconds.

Each way ends in one epsilon at the same total delta:

- *basic*: each release is an (epsilon, delta) pair, and pairs are added;
- *advanced*: the same pairs by Kairouz, Oh and Viswanath 2015, Theorem 3.4 (with ln(1/delta));
- *optimal*: the same pairs by their Theorem 3.3, which no rule that knows pairs alone can beat;
- *CDP*: each release is delta-approximate rho-CDP, and only the sum is converted.

The first three may split delta between the pairs and the composition as suits them best, and may
take for each pair the least epsilon this library can show.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.ticker import FuncFormatter
from scipy.optimize import brentq
from scipy.stats import binom

from benchmarks import drawing
from benchmarks.markdown import print_table
from dphist import (
    ApproxDP,
    ApproxZCDP,
    PayWhatYouGet,
    ThresholdHistogram,
    TopLabels,
    TopThreshold,
    calibrate,
    compose,
)

DELTA = Fraction(1, 10**6)  # of everything together
OWN_DELTA = Fraction(1, 10**10)  # of each threshold
RELEASES = (1, 10, 100, 1000)
DRAWN = sorted({round(10 ** (i / 8)) for i in range(25)})
WAYS = ("basic", "advanced", "optimal", "CDP")
MAX_LABELS = 10
# Per label; chosen so that a release of each algorithm has a rho of 0.002, or just below.
EPSILON, EPSILON_OF_RANKS = Fraction(1, 50), Fraction(1, 25)
ASKED, RETURNED = 10, 3  # rows of a query of Algorithm 4: asked for, and returned
_SHARES = [Fraction(n, 32) for n in (1, 2, 4, 8, 12, 16, 20, 24, 28, 30, 31)]
_RESOLUTION = 110
_STYLES: dict[str, dict[str, Any]] = {
    "basic": {"color": "#8796a5", "linestyle": ":"},
    "advanced": {"color": "#8796a5", "linestyle": (0, (4, 2))},
    "optimal": {"color": "#d08a2e", "linestyle": "-"},
    "CDP": {"color": "#14202b", "linestyle": "-"},
}
_LABELS = {
    "basic": "(ε, δ) pairs, added",
    "advanced": "(ε, δ) pairs, advanced composition",
    "optimal": "(ε, δ) pairs, the best possible composition",
    "CDP": "approximate CDP, converted at the end",
}

# epsilon of a pair, number of pairs, delta left for their composition -> epsilon, if there is one
Rule: TypeAlias = Callable[[float, int, float], float | None]


@dataclass(frozen=True, slots=True)
class Repeated:
    """A release, made many times.

    Attributes
    ----------
    name : what the tables call it.
    guarantee : what one release costs.
    direct : an epsilon at which one release is (epsilon, own delta)-DP, if one is known.
    """

    name: str
    guarantee: ApproxZCDP
    direct: Fraction | None

    def pairs(self, releases: int) -> Iterator[tuple[float, int, Fraction]]:
        """Ways to state the releases as pairs: epsilon of each, how many, sum of their deltas."""
        if self.direct is not None:
            yield float(self.direct), releases, releases * self.guarantee.delta
        for share in _SHARES:
            delta = DELTA * share / releases
            if delta > self.guarantee.delta:
                pair = self.guarantee.to_approx_dp(delta)
                yield float(pair.epsilon), releases, releases * delta
        if releases == 1:
            yield float(self.guarantee.to_approx_dp(DELTA).epsilon), 1, DELTA

    def together(self, releases: int) -> ApproxDP:
        """What the releases cost by approximate CDP."""
        return compose(*[self.guarantee] * releases).to_approx_dp(DELTA)


@dataclass(frozen=True, slots=True)
class Session:
    """Algorithm 4: queries that share a budget of rows. Each row is a draw of epsilon-DP."""

    name: str = "Alg. 4, 3 of 10"

    @staticmethod
    def _session(queries: int) -> PayWhatYouGet:
        # Every query returns RETURNED rows; the last one must still be able to ask for ASKED.
        budget = RETURNED * queries + ASKED - RETURNED
        return PayWhatYouGet(budget, queries, epsilon=EPSILON_OF_RANKS, delta=OWN_DELTA)

    def pairs(self, queries: int) -> Iterator[tuple[float, int, Fraction]]:
        """Draws, of epsilon each, and the deltas of the queries."""
        session = self._session(queries)
        yield float(EPSILON_OF_RANKS), session.budget, session.guarantee.delta

    def together(self, queries: int) -> ApproxDP:
        """What the session costs by approximate CDP."""
        return self._session(queries).guarantee.to_approx_dp(DELTA)


def repeated() -> list[Repeated | Session]:
    """Return the algorithms, with parameters that make one release of each cost the same CDP."""
    common: dict[str, Any] = {"epsilon": EPSILON, "delta": OWN_DELTA, "max_labels": MAX_LABELS}
    laplace = ThresholdHistogram(**common)
    gaussian = ThresholdHistogram(**common, noise="gaussian")
    top = TopThreshold(**common)
    ranks = TopLabels(ASKED, epsilon=EPSILON_OF_RANKS, delta=OWN_DELTA)
    assert isinstance(laplace.guarantee, ApproxZCDP)
    assert isinstance(gaussian.guarantee, ApproxZCDP)
    assert gaussian.guarantee == top.guarantee == ranks.guarantee
    assert laplace.epsilon_guarantee is not None
    return [
        Repeated("Alg. 1, Laplace", laplace.guarantee, laplace.epsilon_guarantee.epsilon),
        Repeated("Alg. 1 Gaussian, Alg. 2", gaussian.guarantee, None),
        # Its k draws are epsilon-DP each, between laws that miss delta: (k epsilon, delta)-DP.
        Repeated("Alg. 3, k = 10", ranks.guarantee, ASKED * EPSILON_OF_RANKS),
        Session(),
    ]


def basic(epsilon: float, number: int, delta: float) -> float | None:
    """Return the sum."""
    return number * epsilon if delta >= 0 else None


def advanced(epsilon: float, number: int, delta: float) -> float | None:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.4, with `delta` left for the composition."""
    if not delta > 0:
        return None
    mean = number * epsilon * math.tanh(epsilon / 2)
    return mean + epsilon * math.sqrt(2 * number * math.log(1 / delta))


def optimal(epsilon: float, number: int, delta: float) -> float | None:
    """Return the least epsilon at which `number` randomized responses have this delta.

    Kairouz, Oh and Viswanath 2015, Theorem 3.3: that is the best that can be said of pairs.
    """
    truths = np.arange(number + 1)
    losses = epsilon * (2 * truths - number)
    law = binom.pmf(truths, number, 1 / (1 + math.exp(-epsilon)))

    def excess(total: float) -> float:
        above = losses > total
        return float(law[above] @ -np.expm1(total - losses[above])) - delta

    if delta < 0:
        return None
    if delta == 0:
        return number * epsilon
    return float(brentq(excess, 0, number * epsilon)) if excess(0) > 0 else 0.0


def cost(way: str, what: Repeated | Session, releases: int) -> float:
    """Return the total epsilon at delta = DELTA."""
    if way == "CDP":
        return float(what.together(releases).epsilon)
    rules: dict[str, Rule] = {"basic": basic, "advanced": advanced, "optimal": optimal}
    rule = rules[way]
    found = (
        rule(epsilon, number, float(DELTA - spent))
        for epsilon, number, spent in what.pairs(releases)
    )
    return min(total for total in found if total is not None)


def affordable(way: str, releases: int, epsilon: float) -> tuple[Fraction, Fraction]:
    """Return noise scale and threshold of Gaussian histograms that cost epsilon in all."""
    parameters: dict[str, Any] = {"max_labels": MAX_LABELS, "noise": "gaussian"}
    if way == "CDP":
        found = calibrate(
            ThresholdHistogram,
            epsilon=epsilon,
            delta=DELTA,
            releases=releases,
            accounting="cdp",
            **parameters,
        )
        return found.noise_scale, Fraction(found.threshold or 0)
    best: list[Any] = []
    for share in [Fraction(1)] if way == "basic" else _SHARES:
        left = float(DELTA * (1 - share))
        rule = basic if way == "basic" else advanced
        each = _solved(rule, releases, left, epsilon)
        best.append(
            calibrate(
                ThresholdHistogram,
                epsilon=each,
                delta=DELTA * share / releases,
                accounting="cdp",
                **parameters,
            )
        )
    found = min(best, key=lambda made: made.threshold)
    return found.noise_scale, found.threshold


def _solved(rule: Rule, releases: int, delta: float, total: float) -> float:
    """Return the epsilon of one release at which all cost `total`; rounded down a little."""

    def over(epsilon: float) -> float:
        found = rule(epsilon, releases, delta)
        assert found is not None
        return found - total

    return float(brentq(over, 1e-9, 10 * total)) * (1 - 1e-9)


def tables() -> None:
    """Print the tables."""
    what = repeated()
    print(f"\nTotal epsilon at a total delta of {float(DELTA):g}:\n")
    print_table(
        ["", "way", *(f"{n:,}" for n in RELEASES)],
        (
            (one.name, way, *(_shown(cost(way, one, n)) for n in RELEASES))
            for one in what
            for way in WAYS
        ),
    )
    print("\nNoise and threshold, in records, of Gaussian histograms that cost epsilon 1 in all:\n")
    ways = [way for way in WAYS if way != "optimal"]
    found = {(way, n): affordable(way, n, 1) for way in ways for n in RELEASES}
    print_table(
        ["releases", *(f"{way}: {part}" for way in ways for part in ("σ", "threshold"))],
        ((f"{n:,}", *(_shown(float(x)) for way in ways for x in found[way, n])) for n in RELEASES),
    )


def _shown(number: float) -> str:
    """Three digits or so, rounded up: no less is claimed than holds."""
    digits = max(0, 2 - math.floor(math.log10(number)))
    return f"{math.ceil(number * 10**digits) / 10**digits:,.{digits}f}"


def panels_of(what: Iterable[Repeated | Session]) -> list[Repeated | Session]:
    """Return what is drawn: of algorithms that look alike, the first."""
    return [one for one in what if not one.name.startswith("Alg. 3")]


def draw(path: Path, what: Iterable[Repeated | Session]) -> None:
    """Draw the total epsilon against the number of releases, a panel an algorithm."""
    panels = list(what)
    figure = drawing.new_figure(3.6 * len(panels), 4.2)
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True).tolist()
    for ax, one in zip(axes, panels, strict=True):
        for way in WAYS:
            values = [cost(way, one, n) for n in DRAWN]
            ax.plot(DRAWN, values, linewidth=1.7, label=_LABELS[way], **_STYLES[way])
        drawing.clean(ax, f"{one.name} and 3" if one.name.endswith("2") else one.name)
        ax.set_xscale("log")
        ax.set_yscale("log")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        ax.set_xlabel(
            "Queries of one session" if isinstance(one, Session) else "Releases", fontsize=9
        )
    axes[0].set_ylabel("Total ε at δ = 10⁻⁶", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=9.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_RESOLUTION)


def main() -> None:
    """Print the tables and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).parent / "out"
    parser.add_argument("--output", type=Path, default=default, help="folder of the figure")
    options = parser.parse_args()
    tables()
    draw(options.output / "composition.png", panels_of(repeated()))


if __name__ == "__main__":
    main()
