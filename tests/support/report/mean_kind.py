"""A kind of release that dphist does not have: the mean of a column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dphist import PrivacyUnit, Release
from dphist.document.blocks import JSON, READ, Document, Fact, NoError, Section
from dphist.document.chart import Axis, Chart, Line
from dphist.document.kind import DataFacts, Kind
from dphist.document.promised import Promised
from dphist.document.release import make_counts_fact, make_document
from dphist.document.unit_words import Counted, Number


@dataclass(frozen=True)
class Mean:
    """The released value."""

    mean: float


class MeanMechanism:
    """What its mechanisms have in common; those of others may release a mean as well."""


def document(mechanism: Any, data: DataFacts, release: Release | None = None) -> Document:
    unit, neighbors = PrivacyUnit("record"), "D and D′ differ in one record."
    promised = Promised(mechanism, data, release, neighbors, Number(), unit)
    sections = []
    if release is not None:
        mean, unknown = release.value.mean, NoError("its error is not stated")
        shown = Fact("Mean", f"{mean}", "mean", mean, unknown, on=READ | {JSON})
        sections = [
            Section("histogram", "Results", [shown, make_counts_fact(Counted("records"))]),
        ]
    return make_document("mean", "Mean of a column", promised, sections)


def make_table(release: Release) -> pa.Table:
    return pa.table({"mean": [release.value.mean]})


def charts(release: Release) -> list[Chart]:
    x = np.repeat(release.value.mean, 2)
    lines = [Line("Released", x, np.array([0.0, 1.0]))]
    axes = Axis("Mean", x[0] - 1, x[0] + 1), Axis("", 0, 1)
    return [Chart("mean", "Mean", "The released mean.", *axes, lines=lines)]


def kind_of_means(value_type: type[Any] = Mean, name: str = "mean") -> Kind:
    return Kind(
        name=name,
        title="Mean of a column",
        value_type=value_type,
        mechanism_type=MeanMechanism,
        document=document,
        table=make_table,
        charts=charts,
    )
