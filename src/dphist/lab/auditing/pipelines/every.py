"""Everything of dphist that `dphist audit --all` audits."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.lab.auditing.declared import audited_classes
from dphist.lab.auditing.layer import LAYERS
from dphist.lab.auditing.named import named
from dphist.lab.auditing.pipelines import ledgers, tables
from dphist.lab.auditing.pipelines.engines import engines

_DELTA = Fraction(5, 100)

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
    all_of_them = (*_mechanisms(), *_tables(slow), _ledger())
    return {each.name: each for each in all_of_them}


def _mechanisms() -> Iterator[Audited]:
    classes = {known.__name__: audited for known, audited in audited_classes().items()}
    for name in classes:
        yield _mechanism(name, name, {})
    for name, audited in classes.items():
        for what, parameters in audited.others.items():
            yield _mechanism(f"{name} {what}", name, parameters)
    for name, audited in classes.items():
        for what, parameters in audited.tiny.items():  # at an epsilon that makes laws short
            said = f"{name} {what}"
            yield _mechanism(said, name, parameters, epsilon=3, layers=("exact",))


def _mechanism(
    name: str,
    kind: str,
    parameters: Mapping[str, Any],
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
    return _make("ThresholdHistogram", max_labels=tables.MOST_LABELS, labels=["tea", "1", "a"])


def _new() -> Any:
    return _make("ThresholdHistogram", _DELTA, max_labels=tables.MOST_LABELS, noise="laplace")


def _sorted() -> Any:
    return _make("SortedCounts", labels=4, sensitivity=tables.MOST_RECORDS)


def _leaves() -> Any:
    return _make("LeafCounts", bins=len(tables.EDGES) - 1, sensitivity=tables.MOST_RECORDS)


def _make(name: str, delta: Fraction = Fraction(0), **parameters: Any) -> Any:
    return named(name, epsilon=1, delta=delta, parameters=parameters)


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
