"""Comparing: how a kind has its mechanisms compared on data that may be looked at."""

import functools
import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, ClassVar, TypeAlias

from dphist.document.options import Needs, Option
from dphist.errors import ParameterError
from dphist.privacy.calibration import calibrate

Run: TypeAlias = Callable[[], tuple[Sequence[float | None], float]]
"""Makes a release; returns its errors, one for each measure, and the seconds it took."""

NOTHING, TOTAL = "nothing", "n"
"""What a mechanism is given in advance. A data owner may not know it, and may not look."""

# Okabe and Ito's colors, which color-blind readers tell apart; a variant of a mechanism has
# its color and a dashed line.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
SKY, YELLOW, GRAY, BLACK = "#56B4E9", "#B8A800", "#8A94A0", "#000000"

_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


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


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to make a mechanism for an epsilon and data, of which it is given something.

    Attributes
    ----------
    name : what it is called in tables and pictures.
    told : what of the data it is given, such as `TOTAL`.
    make : called with epsilon, and with what the data hold.
    color : of its line; empty for the next one that is free.
    dashed : whether the line is dashed.
    parameters : those other than epsilon, as text: two contenders of one name and other parameters
        are not the same.
    code : names the code of a mechanism that is not of dphist, whose version names it; else empty.
    """

    name: str
    told: str
    make: Callable[[Any, Any], Any]
    color: str = ""
    dashed: bool = False
    parameters: str = ""
    code: str = ""


class MissingParameterError(ParameterError):
    """A class of mechanisms needs a parameter that does not follow from the data."""

    def __init__(self, mechanism: str, parameter: str) -> None:
        super().__init__(
            "mechanisms",
            f"must do without parameters that do not follow from the data: {mechanism} needs "
            f"{parameter}",
            f"give functools.partial({mechanism}, {parameter}=...)",
        )
        self.mechanism = mechanism
        self.needed = parameter


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter that follows from the data.

    Attributes
    ----------
    value : of the parameter.
    told : what this tells a mechanism of secret data, such as "number of labels"; empty for what
        is public.
    always : whether mechanisms get it that have a default too, as a bound that they must protect.
    """

    value: Any
    told: str = ""
    always: bool = False


class Case(ABC):
    """Data that mechanisms of one kind are compared on.

    Parameters
    ----------
    data : what mechanisms release.
    opened : what these hold, to be looked at: see `dphist.data.open_data.open_data`.
    delta : the total that is asked for; None for none.

    Attributes
    ----------
    measures : what is measured, the most important first.
    keeps_delta : whether a mechanism that is given keeps its delta: it costs what its parameters
        say. Of others a total is shared out.
    """

    measures: tuple[Measure, ...]
    keeps_delta: ClassVar[bool] = False

    def __init__(self, data: Any, opened: Any, delta: Any) -> None:
        self.data, self.opened, self.delta = data, opened, delta

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """What a comparison says of the data: name and text."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Names the content of the data, whatever file it came from."""

    @abstractmethod
    def list_known(self) -> Mapping[str, Given]:
        """Return the parameters that follow from the data, by name."""

    @abstractmethod
    def run(self, mechanism: Any) -> Run:
        """Return what releases these data once; see `make_run`."""

    def list_published(self) -> list[Contender]:
        """Return all mechanisms of this kind that there are implementations of."""
        return []

    def foresee(self, mechanism: Any) -> float | None:
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
        given = find_given(mechanism, self.list_known(), name)
        values = {parameter: each.value for parameter, each in given.items()}
        told = ", ".join(each.told for each in given.values() if each.told)
        return Contender(
            name,
            told or NOTHING,
            lambda epsilon, _: self.make(mechanism, epsilon, **values),
            color,
            dashed,
            format_parameters(mechanism, values),
        )


LABEL = Option("label", "column of labels", "COLUMN")
COUNT = Option("count", "column of counts", "COLUMN")
USER = Option("user", "column of users, of data that are counted by row; needs a bound", "COLUMN")
NEEDS = (
    Needs(["label"], "the column of labels"),
    Needs(["delta"], "the total delta, such as 1e-6"),
)
"""What a file of labels needs, if its mechanisms have a total delta."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of data that ``dphist compare`` reads.

    Attributes
    ----------
    option : names the file.
    read : called with its path, and with the values of `columns` by name.
    columns : options for columns and bounds; if `LABEL` is among them, the others need it.
        Of options with one name, of several kinds, the first is shown.
    """

    option: Option
    read: Callable[..., Any]
    columns: Sequence[Option] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """How mechanisms of a kind are compared.

    Attributes
    ----------
    title : of a comparison.
    data : what mechanisms are compared on, such as "a Profile".
    takes : whether data are of the kind. That which was registered last is asked first.
    case : called with data, with what they hold, and with the total delta or None.
    file : what ``dphist compare`` reads; None if it reads no data of the kind.
    """

    title: str
    data: str
    takes: Callable[[Any], bool]
    case: Callable[[Any, Any, Any], Case]
    file: DataFile | None = None


def make_run(release: Callable[[], Any], errors: Callable[[Any], Sequence[float | None]]) -> Run:
    """Return a run of `release`, whose value, that of a `Release` or its own, has `errors`."""

    def once() -> tuple[Sequence[float | None], float]:
        begun = time.perf_counter()
        released = release()
        seconds = time.perf_counter() - begun
        return errors(getattr(released, "value", released)), seconds

    return once


def compute_digest(parts: Iterable[bytes]) -> str:
    """Return a name of some content."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.hexdigest()[:16]


def find_given(
    mechanism: Callable[..., Any], known: Mapping[str, Given], name: str
) -> dict[str, Given]:
    """Return what a class of mechanisms is given beside epsilon.

    Raises
    ------
    ParameterError
        If it has no epsilon.
    MissingParameterError
        If it needs something that is not known.
    """
    try:
        accepted: Mapping[str, Parameter] = signature(mechanism).parameters
    except (TypeError, ValueError):
        accepted = {}
    if "epsilon" not in accepted:
        raise ParameterError(
            "mechanisms",
            f"must have a parameter epsilon, or be functions of it: {name} has none",
        )
    fixed = _get_fixed(mechanism)
    found = {}
    for parameter, about in accepted.items():
        if parameter in ("epsilon", *fixed) or about.kind in _VARIABLE:
            continue
        required = about.default is Parameter.empty
        if parameter in known:
            if required or known[parameter].always:
                found[parameter] = known[parameter]
        elif required:
            raise MissingParameterError(name, parameter)
    return found


def format_parameters(mechanism: Callable[..., Any], values: Mapping[str, Any]) -> str:
    """Return the parameters as text, in the order of their names."""
    every = {**_get_fixed(mechanism), **values}
    return ", ".join(f"{name}={every[name]!r}" for name in sorted(every))


def _get_fixed(mechanism: Callable[..., Any]) -> dict[str, Any]:
    return dict(mechanism.keywords) if isinstance(mechanism, functools.partial) else {}


TOTAL_ERROR = Measure(
    "total error",
    "records",
    "The sum over all labels of |released count - count|; a label that is not released counts 0.",
)
FOUND = Measure(
    "labels found",
    "labels",
    "Labels that are released and do occur.",
    larger_is_better=True,
)
ERROR_OF_COUNT = Measure(
    "error of a count",
    "records",
    "The mean over released labels of |released count - count|.",
)
MEASURES = (TOTAL_ERROR, FOUND, ERROR_OF_COUNT)


def compute_errors(
    released: Mapping[Any, int | None], truth: Mapping[Any, int], total: int
) -> tuple[float | None, float, float | None]:
    """Return the total error, the labels found, and the error of a count.

    Parameters
    ----------
    released : counts by label; None if only labels are released.
    truth : true counts by label, of all labels that occur.
    total : their sum.
    """
    found = float(sum(truth.get(label, 0) > 0 for label in released))
    counted = {label: count for label, count in released.items() if count is not None}
    if len(counted) < len(released):
        return None, found, None
    true = {label: truth.get(label, 0) for label in counted}
    away = sum(abs(count - true[label]) for label, count in counted.items())
    missed = total - sum(true.values())
    return float(away + missed), found, away / len(counted) if counted else None


class CaseOfTotal(Case):
    """Data with labels, whose mechanisms are calibrated to a total (epsilon, delta)."""

    measures: tuple[Measure, ...] = MEASURES

    def __init__(self, data: Any, opened: Any, delta: Any) -> None:
        if delta is None:
            raise ParameterError("delta", "must be given: mechanisms for labels have a total delta")
        super().__init__(data, opened, delta)

    def make(self, mechanism: Callable[..., Any], epsilon: Any, **parameters: Any) -> Any:
        """Return the mechanism that costs (epsilon, delta) in all."""
        return calibrate(mechanism, epsilon=epsilon, **parameters | {"delta": self.delta})
