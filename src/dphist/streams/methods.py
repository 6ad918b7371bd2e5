"""The methods of a stream and its listed labels: which its parameters ask for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact
from dphist.release.label_types import IN_WORDS, LABEL_TYPES, LabelType, find_type, format_label
from dphist.sentence import EVENTS, Sentence
from dphist.streams.counters.design import UNBOUNDED

Method: TypeAlias = Literal["toeplitz", "autoregressive", "binary", "laplace", "unbounded"]

COMPOSITION: dict[Method, str] = {
    "binary": Sentence("drawn for each sum over a dyadic block of {events}", **EVENTS),
    "autoregressive": "a sum of a few autoregressive processes",
    "toeplitz": "a sum of a few autoregressive processes without a past",
    "unbounded": "a sum of autoregressive processes without a past that grows slowly with time",
    "laplace": Sentence(
        "drawn for each sum over a block of {events}; sums are added and subtracted", **EVENTS
    ),
}
"""What the noise of a label is made of."""


def check_method(
    method: Any, horizon: int | None, labels: object, delta: Exact | None, readings: int | None
) -> Method:
    """Return the method, or the default: pure for a delta of 0, and by whether there is a horizon.

    Raises
    ------
    ParameterError
        If it does not exist, or does not suit the other parameters.
    """
    if method is None:
        pure = labels is not None and delta is not None
        method = "laplace" if pure else "unbounded" if horizon is None else "toeplitz"
    if method not in get_args(Method):
        raise ParameterError("method", f"must be one of {', '.join(get_args(Method))}")
    if method == "laplace" and labels is None:
        raise ParameterError(
            "labels",
            "must be listed for "
            + Argument("method", "laplace")
            + ": labels from the data need a "
            + Argument("delta"),
        )
    if method != "unbounded" and horizon is None:
        raise ParameterError("horizon", "must be given for " + Argument("method", method))
    if method == "unbounded" and horizon not in (None, UNBOUNDED):
        raise ParameterError("horizon", "must be None for " + Argument("method", "unbounded"))
    if method == "unbounded" and readings is None:
        raise ParameterError(
            "readings",
            "must be given where there is no "
            + Argument("horizon")
            + ": how often the stream is read at most",
        )
    found: Method = method
    return found


def check_type(wanted: LabelType | None, labels: Sequence[Any] | None) -> LabelType:
    """Return the type that was asked for, or that of the first listed label, or text."""
    if wanted is None:
        first = next(iter(labels), None) if isinstance(labels, Sequence) else None
        return find_type(first) or "text"
    if wanted not in LABEL_TYPES:
        raise ParameterError("label_type", f"must be one of {', '.join(LABEL_TYPES)}")
    return wanted


def read_listed_labels(labels: Sequence[Any], kind: LabelType) -> tuple[str, ...]:
    """Return the listed labels as text."""
    listed = isinstance(labels, Iterable) and not isinstance(labels, str | bytes | Mapping)
    held = [format_label(label, kind) for label in labels] if listed else []
    texts = tuple(text for text in held if text is not None)
    if not held or len(texts) < len(held) or len(set(texts)) < len(texts):
        raise ParameterError(
            "labels", f"must list at least one label, as {IN_WORDS[kind]}, and each once"
        )
    return texts
