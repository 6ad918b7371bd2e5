"""Released: releases and their values, which no mechanism accepts as data."""

from dphist.errors import ParameterError
from dphist.release.tabular import Tabular


class Released(Tabular):
    """A release or its value. Not secret."""

    __slots__ = ()


def refuse_released(data: object, name: str) -> None:
    """Refuse what is released, where a mechanism is given data as the parameter `name`."""
    if isinstance(data, Released):
        raise ParameterError(
            name,
            f"must be data, and this {type(data).__name__} is released already: computing from it "
            "costs nothing and needs no mechanism",
            "to try a mechanism on its numbers, make data of them with Profile.from_prevalences or "
            "LabelCounts.from_counts, or give an array of bins",
        )
