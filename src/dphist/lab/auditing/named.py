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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.data.binned_counts import bin_counts
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.errors import BudgetError, ParameterError
from dphist.lab.auditing.result import LAYERS
from dphist.lab.auditing.subject import list_audited
from dphist.ledger.ledger import Ledger
from dphist.mechanism import Mechanism
from dphist.parameters import Exact
from dphist.privacy.calibration import calibrate


def mechanisms() -> dict[str, type[Any]]:
    """Return the classes of mechanisms that have a name of their own, in the order of kinds."""
    found: dict[str, type[Any]] = {}
    for known in list_audited():
        # A class of others does not take the place of ours.
        found.setdefault(known.__name__, known)
    return found


def make_named(
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
    found = _find_mechanism(name)
    if not inspect.isclass(found):
        if parameters:
            raise ParameterError("parameters", "are for a class of mechanisms")
        return found
    unknown = set(parameters) - set(inspect.signature(found).parameters)
    if unknown:
        raise ParameterError(min(unknown), f"must be left out: {name} has no such parameter")
    audited = list_audited().get(found)
    asked = {**(audited.small if audited is not None else {}), **parameters}
    off = asked.pop("delta", None) if delta is None else delta
    asked.pop("delta", None)
    if not all(hasattr(found, each) for each in ("guarantee", "description")):
        raise ParameterError("mechanism", "must be a mechanism, or a callable that takes data")
    made: Callable[..., Any] = found
    return calibrate(
        made,
        epsilon=1 if epsilon is None else epsilon,
        delta=0 if off is None else off,
        **asked,
    )


def names_class(name: str) -> bool:
    """Whether a name stands for a class of mechanisms, which `make_named` calibrates."""
    return inspect.isclass(_find_mechanism(name))


def _find_mechanism(name: str) -> Any:
    if ":" in name:
        return import_attribute(name)
    known = mechanisms()
    if name not in known:
        raise ParameterError(
            "mechanism", f"must be one of {', '.join(known)}, or package.module:name"
        )
    return known[name]


def import_attribute(name: str) -> Any:
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


# --- Everything that `dphist audit --all` audits

Made = tuple[Any, list[tuple[str, Any, Any]] | None, Fraction | None, Fraction]
"""A mechanism or callable, neighbors (None: its kind's), epsilon (None: its own) and delta."""


@dataclass(frozen=True)
class Audited:
    """Something to audit.

    Attributes
    ----------
    name : as it is shown, and given on the command line.
    make : returns it, with the claim and neighbors.
    layers : that can be tried. Which noise is drawn for new labels depends on the data, as delta
        allows, and a replay would object.
    """

    name: str
    make: Callable[[], Made]
    layers: tuple[str, ...] = LAYERS


def everything(*, slow: bool = False) -> dict[str, Audited]:
    """Return what there is to audit by name; with `slow`, also engines that take long to start."""
    all_of_them = (*_mechanisms(), *_tables(slow), Audited("ledger", _make_ledger))
    return {each.name: each for each in all_of_them}


def _mechanisms() -> Iterator[Audited]:
    def make_calibrated(name: str, parameters: Mapping[str, Any], epsilon: int = 1) -> Made:
        made = make_named(name, epsilon=epsilon, delta=None, parameters=parameters)
        return made, None, None, Fraction(0)

    classes = {known.__name__: audited for known, audited in list_audited().items()}
    for name in classes:
        yield Audited(name, partial(make_calibrated, name, {}))
    for name, audited in classes.items():
        for what, parameters in audited.others.items():
            yield Audited(f"{name} {what}", partial(make_calibrated, name, parameters))
    for name, audited in classes.items():
        for what, parameters in audited.tiny.items():  # at an epsilon that makes laws short
            yield Audited(
                f"{name} {what}", partial(make_calibrated, name, parameters, 3), ("exact",)
            )


# --- From the rows of a table to a release: bounding, counting and noise, in an engine's tables

Frame = Callable[[pa.Table], Any]
Rows = list[tuple[Any, ...]]
TablePairs = list[tuple[str, Rows, Rows]]
_OTHERS = 12  # users beside the one: about as many as a threshold asks for
_DELTA = Fraction(5, 100)


def _spark(table: pa.Table) -> Any:
    sql = importlib.import_module("pyspark.sql")
    session = sql.SparkSession.builder.getOrCreate()
    kinds = {"string": "string", "int64": "bigint", "double": "double"}
    schema = ", ".join(f"{item.name} {kinds[str(item.type)]}" for item in table.schema)
    return session.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema)


_ENGINES: dict[str, tuple[str, Frame]] = {
    "pandas": ("pandas", lambda table: table.to_pandas()),
    "polars": ("polars", lambda table: importlib.import_module("polars").from_arrow(table)),
    "arrow": ("pyarrow", lambda table: table),
    "duckdb": (
        "duckdb",
        lambda table: importlib.import_module("duckdb").connect().from_arrow(table),
    ),
    "spark": ("pyspark", _spark),
}
_SLOW = ("spark",)  # takes seconds to start


@dataclass(frozen=True)
class _Counted:
    """How rows of users are counted, and what releases the counts."""

    count: Callable[[Any], Any]
    mechanism: str
    parameters: dict[str, Any]
    column: str = "label"
    delta: Fraction = Fraction(0)

    def make(self, name: str, frame: Frame) -> Made:
        """Return a callable of rows, in tables of one engine."""
        mechanism = make_named(
            self.mechanism, epsilon=1, delta=self.delta, parameters=self.parameters
        )
        kind = pa.string() if self.column == "label" else pa.float64()
        schema = pa.schema([("user", pa.string()), (self.column, kind)])

        def run(rows: Rows) -> Any:
            listed = [{"user": user, self.column: value} for user, value in rows]
            return mechanism.release(self.count(frame(pa.Table.from_pylist(listed, schema))))

        run.__name__ = name
        pairs = label_pairs() if self.column == "label" else bin_pairs()
        run(pairs[0][1])  # an engine warns as it starts, which is no part of what the data show
        return run, pairs, Fraction(1), self.delta


_EDGES = [0.0, 1.0, 2.0, 3.0]
_count_labels = partial(
    LabelCounts.from_table, label="label", user="user", max_labels=2, max_count=1
)
_COUNTED = {
    "labels": _Counted(
        _count_labels, "ThresholdHistogram", {"max_labels": 2, "labels": ["tea", "1", "a"]}
    ),
    "new labels": _Counted(
        _count_labels, "ThresholdHistogram", {"max_labels": 2, "noise": "laplace"}, delta=_DELTA
    ),
    "profile": _Counted(
        partial(Profile.from_table, label="label", user="user", max_records=2),
        "SortedCounts",
        {"labels": 4, "sensitivity": 2},
    ),
    "bins": _Counted(
        partial(bin_counts, column="value", edges=_EDGES, user="user", max_records=2),
        "LeafCounts",
        {"bins": len(_EDGES) - 1, "sensitivity": 2},
        "value",
    ),
}


def _tables(slow: bool) -> Iterator[Audited]:
    """Noise of listed labels, counts and bins is replayed; new labels are for the threshold."""
    for engine, (package, frame) in _ENGINES.items():
        if importlib.util.find_spec(package) and (slow or engine not in _SLOW):
            for what, counted in _COUNTED.items():
                name, layers = f"{what} of {engine}", ("statistical",) if counted.delta else LAYERS
                yield Audited(name, partial(counted.make, name, frame), layers)


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


def _make_ledger() -> Made:
    """Return a callable that spends a new ledger on data, a release too many included.

    It shows releases, a refusal, what is left and entries. The second release depends on the first
    one: an analyst chooses it after seeing that.
    """
    half, quarter = (
        make_named("LeafCounts", epsilon=epsilon, delta=None, parameters={"bins": 2})
        for epsilon in ("1/2", "1/4")
    )

    def ledger(counts: Sequence[int]) -> Any:
        data = np.asarray(counts)
        with tempfile.TemporaryDirectory() as folder:
            made = Ledger.create(Path(folder) / "a.ledger", epsilon=1, unit="one record")

            def release(mechanism: Any, key: str, by: str = "ana") -> Any:
                return made.release(mechanism, data, by=by, key=key).value.counts.tolist()

            first = release(half, "first")
            second = release(quarter if first[0] > first[1] else half, "second")
            again = release(half, "first")
            try:
                third = release(half, "third", "ben")
            except BudgetError as error:
                third = str(error)
            left = str(made.remaining.epsilon)
        return {
            "first": first,
            "second": second,
            "the first again": again,
            "third": third,
            "left": left,
        }

    pairs = [
        ("no records, and one", [0, 0], [1, 0]),
        ("a large count grows", [10**6, 3], [10**6 + 1, 3]),
    ]
    return ledger, pairs, Fraction(1), Fraction(0)
