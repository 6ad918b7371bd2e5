"""Everything of dphist that `dphist audit --all` audits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.anonymized import SortedCounts
from dphist.lab.auditing.layer import LAYERS
from dphist.lab.auditing.named import MECHANISMS, named
from dphist.lab.auditing.pipelines import ledgers, tables
from dphist.lab.auditing.pipelines.engines import engines
from dphist.labels import ThresholdHistogram
from dphist.privacy.calibration import calibrate
from dphist.ranges import LeafCounts

_DELTA = Fraction(5, 100)
_LEVELS = 4096  # bins of trees of twelve levels

Pairs = list[tuple[str, Any, Any]] | None


@dataclass(frozen=True)
class Audited:
    """Something to audit.

    Attributes
    ----------
    name : as it is shown, and given on the command line.
    make : returns the mechanism or callable, neighbors (None: those of its kind), epsilon and
        delta (None: those of the mechanism).
    layers : that can be tried. Which noise is drawn for new labels depends on the data, as delta
        allows, and a replay would object.
    """

    name: str
    make: Callable[[], tuple[Any, Pairs, Fraction | None, Fraction]]
    layers: tuple[str, ...] = LAYERS


def everything(*, slow: bool = False) -> dict[str, Audited]:
    """Return what there is to audit by name; with `slow`, also engines that take long to start."""
    all_of_them = (*_mechanisms(), *_small(), *_tables(slow), _ledger())
    return {each.name: each for each in all_of_them}


def _mechanisms() -> Iterator[Audited]:
    for name in MECHANISMS:
        yield _mechanism(name, name, {})
    for name in ("AdaptiveTree", "HierarchicalTree"):
        yield _mechanism(f"{name} of 4096 bins", name, {"bins": _LEVELS})
    yield _mechanism("AdaptiveScan of users", "AdaptiveScan", {"sensitivity": 3})
    yield _mechanism("ThresholdHistogram with normal noise", "ThresholdHistogram", _NORMAL)
    yield _mechanism("ContinualMechanism of listed labels", "ContinualMechanism", _LISTED)
    yield _mechanism("ContinualMechanism of users", "ContinualMechanism", _USERS)


def _small() -> Iterator[Audited]:
    """So small that laws can be enumerated, at an epsilon that makes them short."""
    for name, (kind, parameters) in _TINY.items():
        yield _mechanism(name, kind, parameters, epsilon=3, layers=("exact",))


_TINY: dict[str, tuple[str, dict[str, Any]]] = {
    "SortedCounts of 1 label": ("SortedCounts", {"labels": 1}),
    "SortedCounts of 2 labels": ("SortedCounts", {"labels": 2}),
    "CumulativeCounts up to 1": ("CumulativeCounts", {"largest": 1}),
    "RankSplit of 1 record": ("RankSplit", {"total": 1}),
    "LeafCounts of 1 bin": ("LeafCounts", {"bins": 1}),
    "LeafCounts of 2 bins": ("LeafCounts", {"bins": 2}),
    "HierarchicalTree of 2 bins": ("HierarchicalTree", {"bins": 2}),
    "AdaptiveTree of 2 bins": ("AdaptiveTree", {"bins": 2}),
    "ThresholdHistogram of 1 label": ("ThresholdHistogram", {"max_labels": 1}),
}
_NORMAL = {"noise": "gaussian"}
_LISTED = {"labels": ["a", "b"], "max_labels": 1}
_USERS = {"labels": ["a", "b"], "max_labels": 1, "max_events_per_user": 2}


def _mechanism(
    name: str,
    kind: str,
    parameters: dict[str, Any],
    epsilon: int = 1,
    layers: tuple[str, ...] = LAYERS,
) -> Audited:
    def make() -> tuple[Any, Pairs, Fraction | None, Fraction]:
        made = named(kind, epsilon=epsilon, delta=None, parameters=parameters)
        return made, None, None, Fraction(0)

    return Audited(name, make, layers)


def _tables(slow: bool) -> Iterator[Audited]:
    """Noise of listed labels, counts and bins is replayed; new labels are for the threshold."""
    for engine, frame in engines(slow=slow).items():
        yield _pipeline(f"labels of {engine}", _listed, tables.label_counts, frame, "labels")
        yield _pipeline(f"new labels of {engine}", _new, tables.label_counts, frame, "labels")
        yield _pipeline(f"profile of {engine}", _sorted, tables.profiles, frame, "labels")
        yield _pipeline(f"bins of {engine}", _leaves, tables.bins, frame, "bins")


def _listed() -> Any:
    return calibrate(
        ThresholdHistogram,
        epsilon=1,
        delta=0,
        max_labels=tables.MOST_LABELS,
        labels=["tea", "1", "a"],
    )


def _new() -> Any:
    return calibrate(
        ThresholdHistogram, epsilon=1, delta=_DELTA, max_labels=tables.MOST_LABELS, noise="laplace"
    )


def _sorted() -> Any:
    return SortedCounts(epsilon=1, labels=4, sensitivity=tables.MOST_RECORDS)


def _leaves() -> Any:
    return LeafCounts(epsilon=1, bins=len(tables.EDGES) - 1, sensitivity=tables.MOST_RECORDS)


def _pipeline(name: str, mechanism: Callable[[], Any], made: Any, frame: Any, data: str) -> Audited:
    def make() -> tuple[Any, Pairs, Fraction | None, Fraction]:
        audited = mechanism()
        run = made(audited, frame)
        run.__name__ = name
        pairs = tables.label_pairs() if data == "labels" else tables.bin_pairs()
        run(pairs[0][1])  # an engine warns as it starts, which is no part of what the data show
        return run, pairs, Fraction(1), _DELTA if mechanism is _new else Fraction(0)

    return Audited(name, make, ("statistical",) if mechanism is _new else LAYERS)


def _ledger() -> Audited:
    def make() -> tuple[Any, Pairs, Fraction | None, Fraction]:
        run = ledgers.transcript()
        run.__name__ = "ledger"
        return run, list(ledgers.PAIRS), Fraction(ledgers.BUDGET), Fraction(0)

    return Audited("ledger", make)
