"""Public lists of labels beside which all others are counted as one, named "other"."""

from typing import Any

from dphist.counting.bounding.other_labels import OTHER as OTHER
from dphist.errors import ParameterError


def read_other_than(labels: Any, parameter: str) -> tuple[str, ...]:
    """Return listed labels, each once, all text and none of them "other".

    Parameters
    ----------
    parameter : which lists them, for error messages.

    Raises
    ------
    ParameterError

    >>> read_other_than(["BE", "UR"], "labels")
    ('BE', 'UR')
    """
    unfit = ParameterError(
        parameter,
        "must list at least one label, each once and all text, where others are counted together",
        "cast other labels to text, in the table too",
    )
    if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
        raise unfit
    held = tuple(labels)
    if not held or not all(map(_is_text, held)) or len(set(held)) < len(held):
        raise unfit
    if OTHER in held:
        raise ParameterError(
            parameter,
            f"must not list {OTHER!r}, the name of all labels that are not listed",
            f"leave it out: rows with the label {OTHER!r} count there too",
        )
    return held


def _is_text(label: object) -> bool:
    """Whether a label is text that a column can hold: of whole characters."""
    return isinstance(label, str) and not any("\ud800" <= each <= "\udfff" for each in label)
