"""Tables compared: errors of released tables, of separate ones, and of sums of finest cells."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dphist.arrays import AnyArray, FloatArray
from dphist.document import compared
from dphist.document.options import Needs, Option, whole
from dphist.errors import ParameterError
from dphist.parameters import Exact, positive_delta, privacy_parameter
from dphist.privacy import ApproxDP, Guarantee, PrivacyUnit, PureDP
from dphist.ranges.comparing.published.privelet import privelet
from dphist.tables.command import KEYS_OPTION, OTHER_OPTION, UNLISTED_OPTION
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Names
from dphist.tables.law import largest_rho
from dphist.tables.mechanism import Tables
from dphist.tables.whole_numbers import WholeTables
from dphist.tables.written_keys import read_keys

_MOST_CELLS = 2**22  # of all keys together, for mechanisms that hold them all

Cells: TypeAlias = Mapping[Names, AnyArray]


@dataclass(frozen=True, slots=True)
class ForComparison:
    """Another way to make tables, to be compared with and not to be released with.

    Attributes
    ----------
    making : makes estimates of the tables of counts; noise is in floating point.
    guarantee : what holds with noise of real numbers.
    """

    making: Callable[[KeyedCounts], Cells | WholeTables]
    guarantee: Guarantee


class TablesCase(compared.Case):
    """Counts by several keys: all tables of one and of two of them."""

    def __init__(self, data: KeyedCounts, opened: KeyedCounts, delta: Any) -> None:
        if delta is None:
            raise ParameterError("delta", "must be given: mechanisms for tables have a total delta")
        if data.keys.discovering:
            raise ParameterError(
                "keys",
                f"must list values of {data.keys.discovering[0].name!r}: a comparison finds none",
                "count the data again by listed values",
            )
        if data.weight is not None:
            raise ParameterError(
                "data", "must be counts of whole records: sums of weights are not compared"
            )
        super().__init__(data, opened, delta)
        several = [key.name for key in data.keys if key.size > 1]
        self.tables = [names for most in (1, 2) for names in combinations(several, most)]
        """The tables that are compared, each by its keys."""
        if not self.tables:
            raise ParameterError("data", "must have a key with at least two values")
        self._truth = {names: count_table(opened, names) for names in self.tables}
        self._measured = {
            number: compared.Measure(
                f"error of tables by {keys}",
                "records",
                f"The mean over all tables by {keys} of the sum over cells of |released - true|.",
            )
            for number, keys in ((2, "two keys"), (1, "one key"))
            if number <= len(several)
        }
        """The measures, each by the number of keys of the tables that it is over."""
        self.measures = tuple(self._measured.values())

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, keys, the bound and delta."""
        return {
            "records": f"{int(self.opened.counts.sum()):,}",
            "keys": ", ".join(f"{key.name} ({key.size:,})" for key in self.data.keys),
            "tables": f"{len(self.tables):,}",
            "max_rows": str(self.data.max_rows),
            "delta": str(self.delta),
        }

    @property
    def digest(self) -> str:
        """Names the counts, the keys and the bound."""
        stated = f"{self.data.keys.to_content()} {self.data.max_rows}"
        arrays = (np.ascontiguousarray(held, "<i8") for held in (self.data.cells, self.data.counts))
        return compared.compute_digest([stated.encode(), *(held.tobytes() for held in arrays)])

    def list_known(self) -> Mapping[str, compared.Given]:
        """Return keys, tables, delta and the bound, which are public."""
        return {
            "keys": compared.Given(self.data.keys),
            "tables": compared.Given(self.tables),
            "max_rows": compared.Given(self.data.max_rows, always=True),
            "delta": compared.Given(self.delta, always=True),
        }

    def list_published(self) -> list[compared.Contender]:
        """Return tables in one release, in whole numbers and without, and what is used instead."""
        cells = math.prod(self.data.keys.shape)
        found = [
            self.contender("Tables", Tables, compared.BLACK),
            self._other("Tables, whole numbers", self._make_whole, compared.BLACK, dashed=True),
            self._other("separate tables", self._make_separate, compared.BLUE),
        ]
        if cells <= _MOST_CELLS:
            found += [
                self._other("sums of finest cells", self._make_finest, compared.ORANGE),
                self._other("Privelet", self._make_privelet, compared.SKY),
            ]
        return found

    def run(self, mechanism: Any) -> compared.Run:
        """Return what releases the tables once."""
        if isinstance(mechanism, ForComparison):
            return compared.make_run(partial(mechanism.making, self.data), self._errors)
        return compared.make_run(partial(mechanism.release, self.data), self._errors)

    def _other(
        self, name: str, make: Callable[..., Any], color: str, *, dashed: bool = False
    ) -> compared.Contender:
        return compared.Contender(
            name,
            compared.NOTHING,
            lambda epsilon, _: make(epsilon),
            color,
            dashed,
            parameters="for comparison only",
        )

    def _errors(self, value: Any) -> list[float | None]:
        found = []
        for number in self._measured:
            errors = [
                float(np.abs(_read_cells(value, names) - truth).sum())
                for names, truth in self._truth.items()
                if len(names) == number
            ]
            found.append(math.fsum(errors) / len(errors))
        return [*found]

    def _make_whole(self, epsilon: Exact) -> ForComparison:
        asked = Tables(
            epsilon=epsilon,
            delta=self.delta,
            keys=self.data.keys,
            tables=self.tables,
            max_rows=self.data.max_rows,
        )
        return ForComparison(
            lambda data: asked.release(data).value.to_whole_numbers(), asked.guarantee
        )

    def _make_separate(self, epsilon: Exact) -> ForComparison:
        """Return Gaussian noise on the cells of each table, each with the same share of rho."""
        total = self._total(epsilon)
        sigma = self._sigma(total, len(self.tables))
        return ForComparison(
            lambda data: {
                names: _add_noise(count_table(data, names), sigma) for names in self.tables
            },
            total,
        )

    def _make_finest(self, epsilon: Exact) -> ForComparison:
        """Return Gaussian noise on the cells of all keys together, of which tables are sums."""
        total = self._total(epsilon)
        sigma = self._sigma(total, 1)
        return ForComparison(
            lambda data: self._sums(_add_noise(count_table(data, data.keys.names), sigma)), total
        )

    def _make_privelet(self, epsilon: Exact) -> ForComparison:
        """Return Privelet over all keys together: wavelets of each key in the order of its values.

        It is (epsilon, 0)-DP: it makes nothing of a delta.
        """
        exact, most = privacy_parameter(epsilon, "epsilon"), self.data.max_rows
        each = float(exact) / most
        return ForComparison(
            lambda data: self._sums(
                privelet(count_table(data, data.keys.names), each, np.random.default_rng())
            ),
            PureDP(exact, PrivacyUnit("record", most)),
        )

    def _total(self, epsilon: Exact) -> ApproxDP:
        delta = positive_delta(self.delta, "Gaussian noise has no guarantee in epsilon alone")
        unit = PrivacyUnit("record", self.data.max_rows)
        return ApproxDP(privacy_parameter(epsilon, "epsilon"), delta, unit)

    def _sigma(self, total: ApproxDP, tables: int) -> float:
        """Return the standard deviation of the noise: one unit moves a cell of each table."""
        rho = float(largest_rho(Fraction(total.epsilon), Fraction(total.delta)) / tables)
        return float(self.data.max_rows / math.sqrt(2 * rho))

    def _sums(self, cells: FloatArray) -> Cells:
        """Return the tables as sums of the cells of all keys."""
        names = self.data.keys.names
        return {
            table: cells.sum(tuple(i for i, name in enumerate(names) if name not in table))
            for table in self.tables
        }


def count_table(data: KeyedCounts, names: Names) -> AnyArray:
    """Return the true table of these keys, in the order that the data have them in."""
    return data.sum_over(tuple(i for i, name in enumerate(data.keys.names) if name in names))


def _add_noise(counts: AnyArray, sigma: float) -> FloatArray:
    return counts + np.random.default_rng().normal(scale=sigma, size=counts.shape)


def _read_cells(value: Any, names: Names) -> AnyArray:
    if isinstance(value, KeyedTables | WholeTables):
        return value.table(*names).counts
    if not isinstance(value, Mapping) or names not in value:
        raise ParameterError(
            "mechanisms", "for tables must release KeyedTables, or arrays by tuples of keys"
        )
    return np.asarray(value[names])


def read_rows(
    path: str | Path,
    *,
    axis: list[str],
    other: list[str] | None,
    unlisted: str | None = None,
    count: str | None,
    user: str | None,
    max_rows: int | None,
) -> KeyedCounts:
    """Count the rows of a file by keys that are typed as for ``dphist tables``.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
    """
    return KeyedCounts.from_table(
        path,
        keys=read_keys(axis, other),
        unlisted="error" if unlisted is None else unlisted,
        count=count,
        user=user,
        max_rows=max_rows,
    )


COMPARING = compared.Comparing(
    title="Mechanisms for tables",
    data="KeyedCounts",
    takes=lambda data: isinstance(data, KeyedCounts),
    case=TablesCase,
    file=compared.DataFile(
        option=Option(
            "rows",
            "a row per record, with the columns of --axis: tables of one and two of them",
            "FILE",
            rules=(
                Needs(["axis"], "the columns that rows are counted by, with their values"),
                Needs(["delta"], "the total delta, such as 1e-6"),
            ),
        ),
        columns=[
            replace(KEYS_OPTION, required=False),
            OTHER_OPTION,
            replace(UNLISTED_OPTION, default=None),
            compared.COUNT,
            compared.USER,
            Option(
                "max_rows",
                "rows of a user that are kept, with --rows or --by-group",
                "M",
                whole,
                least=1,
            ),
        ],
        read=read_rows,
    ),
)
