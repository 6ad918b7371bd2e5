"""What is audited by name: mechanisms, tables of each engine up to the release, and a ledger."""

import importlib
import importlib.util
import inspect
import random
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.data.binned_counts import bin_counts
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.errors import BudgetError, ParameterError
from dphist.lab.auditing.result import LAYERS
from dphist.lab.auditing.subject import audited_classes
from dphist.ledger.ledger import Ledger
from dphist.mechanism import Mechanism
from dphist.parameters import Exact
from dphist.privacy.calibration import calibrate


def mechanisms() -> dict[str, type[Any]]:
    """Return the classes of mechanisms that have a name of their own, in the order of kinds."""
    found: dict[str, type[Any]] = {}
    for known in audited_classes():
        # A class of others does not take the place of ours.
        found.setdefault(known.__name__, known)
    return found


def named(
    name: str, *, epsilon: Exact | None, delta: Exact | None, parameters: Mapping[str, Any]
) -> Any:
    """Return what is to be audited.

    Parameters
    ----------
    name : a mechanism of dphist such as "AdaptiveScan", or "package.module:name" of a mechanism, a
        class of mechanisms, or a callable of data.
    epsilon, delta : the total to calibrate a class of mechanisms to (default: epsilon 1).
    parameters : of a class of mechanisms.

    Raises
    ------
    ParameterError
        If there is nothing of that name, or parameters do not serve.
    """
    found = _found(name)
    if not inspect.isclass(found):
        if parameters:
            raise ParameterError("parameters", "are for a class of mechanisms")
        return found
    unknown = set(parameters) - set(inspect.signature(found).parameters)
    if unknown:
        raise ParameterError(min(unknown), f"must be left out: {name} has no such parameter")
    audited = audited_classes().get(found)
    asked = {**(audited.small if audited is not None else {}), **parameters}
    off = asked.pop("delta", None) if delta is None else delta
    asked.pop("delta", None)
    return calibrate(
        _made(found),
        epsilon=1 if epsilon is None else epsilon,
        delta=0 if off is None else off,
        **asked,
    )


def names_class(name: str) -> bool:
    """Whether a name stands for a class of mechanisms, which `named` calibrates."""
    return inspect.isclass(_found(name))


def _found(name: str) -> Any:
    return imported(name) if ":" in name else _of_dphist(name)


def _made(kind: type[Any]) -> Callable[..., Any]:
    if not all(hasattr(kind, each) for each in ("guarantee", "description")):
        raise ParameterError("mechanism", "must be a mechanism, or a callable that takes data")
    return kind


def _of_dphist(name: str) -> Any:
    known = mechanisms()
    if name not in known:
        raise ParameterError(
            "mechanism", f"must be one of {', '.join(known)}, or package.module:name"
        )
    return known[name]


def imported(name: str) -> Any:
    """Return what "package.module:name" is; modules of the current folder are found too.

    Raises
    ------
    ParameterError
        If there is nothing of that name, or it is neither a mechanism nor callable.
    """
    module, _, attribute = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # as with python -m
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        raise ParameterError("mechanism", f"must exist: nothing is named {name}") from None
    if not (inspect.isclass(found) or callable(found) or isinstance(found, Mechanism)):
        raise ParameterError("mechanism", f"must be a mechanism or a callable; {name} is neither")
    return found


Frame = Callable[[pa.Table], Any]


def _pandas(table: pa.Table) -> Any:
    return table.to_pandas()


def _polars(table: pa.Table) -> Any:
    return importlib.import_module("polars").from_arrow(table)


def _arrow(table: pa.Table) -> Any:
    return table


def _duckdb(table: pa.Table) -> Any:
    return importlib.import_module("duckdb").connect().from_arrow(table)


def _spark(table: pa.Table) -> Any:
    sql = importlib.import_module("pyspark.sql")
    session = sql.SparkSession.builder.getOrCreate()
    kinds = {"string": "string", "int64": "bigint", "double": "double"}
    schema = ", ".join(f"{item.name} {kinds[str(item.type)]}" for item in table.schema)
    return session.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema)


_ENGINES: dict[str, tuple[str, Frame]] = {
    "pandas": ("pandas", _pandas),
    "polars": ("polars", _polars),
    "arrow": ("pyarrow", _arrow),
    "duckdb": ("duckdb", _duckdb),
    "spark": ("pyspark", _spark),
}
SLOW = ("spark",)
"""Engines that take seconds to start."""


def engines(*, slow: bool = False) -> dict[str, Frame]:
    """Return the engines that are installed: each makes a table of its own from one of Arrow."""
    return {
        name: make
        for name, (package, make) in _ENGINES.items()
        if importlib.util.find_spec(package) and (slow or name not in SLOW)
    }


Rows = list[tuple[Any, ...]]
TablePairs = list[tuple[str, Rows, Rows]]

MOST_LABELS = 2
MOST_RECORDS = 2
EDGES = [0.0, 1.0, 2.0, 3.0]

_LABELS = pa.schema([("user", pa.string()), ("label", pa.string())])
_VALUES = pa.schema([("user", pa.string()), ("value", pa.float64())])
_OTHERS = 12  # users beside the one: about as many as a threshold asks for


def label_counts(mechanism: Any, frame: Frame) -> Callable[[Rows], Any]:
    """Return a callable that counts labels, and releases counts."""

    def run(rows: Rows) -> Any:
        table = frame(_table(rows, _LABELS))
        counts = LabelCounts.from_table(
            table, label="label", user="user", max_labels=MOST_LABELS, max_count=1
        )
        return mechanism.release(counts)

    return run


def profiles(mechanism: Any, frame: Frame) -> Callable[[Rows], Any]:
    """Return a callable that counts labels, and releases how many have each count."""

    def run(rows: Rows) -> Any:
        table = frame(_table(rows, _LABELS))
        made = Profile.from_table(table, label="label", user="user", max_records=MOST_RECORDS)
        return mechanism.release(made)

    return run


def bins(mechanism: Any, frame: Frame) -> Callable[[Rows], Any]:
    """Return a callable that counts values in bins, and releases the counts."""

    def run(rows: Rows) -> Any:
        table = frame(_table(rows, _VALUES))
        counts = bin_counts(
            table, column="value", edges=EDGES, user="user", max_records=MOST_RECORDS
        )
        return mechanism.release(counts)

    return run


def _table(rows: Rows, schema: pa.Schema) -> pa.Table:
    columns = [
        pa.array([row[place] for row in rows], item.type) for place, item in enumerate(schema)
    ]
    return pa.table(columns, schema=schema)


def label_pairs() -> TablePairs:
    """Return tables with and without a user: over the bounds, with repeated rows, look-alikes."""
    others = [(f"u{k}", "tea") for k in range(_OTHERS)]
    shuffled = others.copy()
    random.Random(5).shuffle(shuffled)  # noqa: S311 - public data
    composed = unicodedata.normalize("NFC", "caf\u00e9")
    looks = [unicodedata.normalize("NFD", composed), f"{composed} ", composed.upper()]
    accents = [(f"u{k}", composed) for k in range(_OTHERS)]
    ones = [(f"u{k}", "1") for k in range(_OTHERS)]
    cases: dict[str, tuple[Rows, Rows]] = {
        "no rows, and one user": ([], [("one", "tea")]),
        "one user has a common label": (others, [*others, ("one", "tea")]),
        "one user has a new label": (others, [*others, ("one", "new")]),
        "a user above the bound": (others, [*others, *_all("one", ["tea", *"abcdefghij"])]),
        "a user above the bound, first": (others, [*_all("one", [*"abcdefghij"]), *others]),
        "a user's rows repeated": (others, [*others, *_all("one", ["tea"] * 20)]),
        "rows in another order, and one user": (others, [("one", "tea"), *shuffled]),
        "normal forms of the same text": (accents, [*accents, *_all("one", looks)]),
        "texts that are equal as numbers": (ones, [*ones, *_all("one", ["1.0", "True", "01"])]),
        "the empty text": (others, [*others, *_all("one", ["", " "])]),
    }
    return [(name, *pair) for name, pair in cases.items()]


def bin_pairs() -> TablePairs:
    """Return tables with and without a user: over the bounds, NaN, the zeros, the edges."""
    nan, inf = float("nan"), float("inf")
    others = [(f"u{k}", 0.5 + k % 3) for k in range(_OTHERS)]
    cases: dict[str, tuple[Rows, Rows]] = {
        "no rows, and one user": ([], [("one", 0.5)]),
        "one user in a common bin": (others, [*others, ("one", 1.5)]),
        "a user above the bound": (others, [*others, *_all("one", [0.5, 1.5, 2.5] * 4)]),
        "a user of one bin, above the bound": (others, [*_all("one", [2.5] * 9), *others]),
        "NaN": (others, [*others, *_all("one", [nan, nan, 0.5])]),
        "both zeros": (others, [*others, *_all("one", [-0.0, 0.0])]),
        "the edges": (others, [*others, *_all("one", [1.0, 3.0])]),
        "the infinities": (others, [*others, *_all("one", [inf, -inf])]),
        "a number below all others": (others, [*others, *_all("one", [5e-324, -5e-324])]),
        "a missing value": (others, [*others, *_all("one", [None, 0.5])]),
        "rows in another order, and one user": (others, [("one", 0.5), *others[::-1]]),
    }
    return [(name, *pair) for name, pair in cases.items()]


def _all(user: str, values: list[Any]) -> Rows:
    return [(user, value) for value in values]


BUDGET = 1
PAIRS = [
    ("no records, and one", [0, 0], [1, 0]),
    ("a large count grows", [10**6, 3], [10**6 + 1, 3]),
]


def transcript() -> Callable[[Sequence[int]], Any]:
    """Return a callable that spends a new ledger on data, a release too many included.

    The second release depends on the first one: an analyst chooses it after seeing that.
    """
    half, quarter = (
        named("LeafCounts", epsilon=epsilon, delta=None, parameters={"bins": 2})
        for epsilon in ("1/2", "1/4")
    )

    def run(counts: Sequence[int]) -> Any:
        data = np.asarray(counts)
        with tempfile.TemporaryDirectory() as folder:
            ledger = Ledger.create(Path(folder) / "a.ledger", epsilon=BUDGET, unit="one record")
            first = ledger.release(half, data, by="ana", key="first").value.bins.tolist()
            following = quarter if first[0] > first[1] else half
            second = ledger.release(following, data, by="ana", key="second").value.bins.tolist()
            again = ledger.release(half, data, by="ana", key="first").value.bins.tolist()
            try:
                third = ledger.release(half, data, by="ben", key="third").value.bins.tolist()
            except BudgetError as error:
                third = str(error)
            left = str(ledger.remaining.epsilon)
        return {
            "first": first,
            "second": second,
            "the first again": again,
            "third": third,
            "left": left,
        }

    return run


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
        yield _pipeline(f"labels of {engine}", _listed, label_counts, frame, "labels")
        yield _pipeline(f"new labels of {engine}", _new, label_counts, frame, "labels")
        yield _pipeline(f"profile of {engine}", _sorted, profiles, frame, "labels")
        yield _pipeline(f"bins of {engine}", _leaves, bins, frame, "bins")


def _listed() -> Any:
    return _make("ThresholdHistogram", max_labels=MOST_LABELS, labels=["tea", "1", "a"])


def _new() -> Any:
    return _make("ThresholdHistogram", _DELTA, max_labels=MOST_LABELS, noise="laplace")


def _sorted() -> Any:
    return _make("SortedCounts", labels=4, sensitivity=MOST_RECORDS)


def _leaves() -> Any:
    return _make("LeafCounts", bins=len(EDGES) - 1, sensitivity=MOST_RECORDS)


def _make(name: str, delta: Fraction = Fraction(0), **parameters: Any) -> Any:
    return named(name, epsilon=1, delta=delta, parameters=parameters)


def _pipeline(name: str, mechanism: Callable[[], Any], made: Any, frame: Any, data: str) -> Audited:
    def make() -> tuple[Any, Pairs, Fraction | None, Fraction]:
        audited = mechanism()
        run = made(audited, frame)
        run.__name__ = name
        pairs = label_pairs() if data == "labels" else bin_pairs()
        run(pairs[0][1])  # an engine warns as it starts, which is no part of what the data show
        return run, pairs, Fraction(1), _DELTA if mechanism is _new else Fraction(0)

    return Audited(name, make, ("statistical",) if mechanism is _new else LAYERS)


def _ledger() -> Audited:
    def make() -> tuple[Any, Pairs, Fraction | None, Fraction]:
        run = transcript()
        run.__name__ = "ledger"
        return run, list(PAIRS), Fraction(BUDGET), Fraction(0)

    return Audited("ledger", make)
