"""The listed labels of a stream, and the type of its labels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dphist.errors import ParameterError
from dphist.release.label_types import IN_WORDS, LABEL_TYPES, LabelType, text_of, type_of


def checked_type(wanted: LabelType | None, labels: Sequence[Any] | None) -> LabelType:
    """Return the type that was asked for, or that of the first listed label, or text."""
    if wanted is None:
        first = next(iter(labels), None) if isinstance(labels, Sequence) else None
        return type_of(first) or "text"
    if wanted not in LABEL_TYPES:
        raise ParameterError("label_type", f"must be one of {', '.join(LABEL_TYPES)}")
    return wanted


def listed_labels(labels: Sequence[Any], kind: LabelType) -> tuple[str, ...]:
    """Return the listed labels as text."""
    listed = isinstance(labels, Iterable) and not isinstance(labels, str | bytes | Mapping)
    held = [text_of(label, kind) for label in labels] if listed else []
    texts = tuple(text for text in held if text is not None)
    if not held or len(texts) < len(held) or len(set(texts)) < len(texts):
        raise ParameterError(
            "labels", f"must list at least one label, as {IN_WORDS[kind]}, and each once"
        )
    return texts
