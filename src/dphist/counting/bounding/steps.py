"""Values of a column as whole steps: each is rounded to the nearest multiple, exactly.

The rule, for every engine: the exact value, of a float the binary one and of decimals and text the
decimal one, is rounded to the nearest multiple of the step, and halfway between two to the even
one. Larger ones than 2**62 - 1 steps, infinities too, are replaced by that. A null or NaN is
missing. What a row becomes depends on its own value and the public step alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.counting.binning.text_values import UnreadableText, read_real_texts
from dphist.counting.checks import LARGEST
from dphist.errors import ColumnError

_SURE = 2.0**50
"""Below this many steps floating point proposes; its error is below the share 2**-51 of a value."""

_DOUBT = 2.0**-50

NO_NUMBERS = "must hold numbers, such as 12, -0.5 or 1e3: correct or drop the other rows"
"""What is wrong with a column of text that is summed."""


@dataclass(frozen=True, slots=True)
class Summed:
    """A column that is summed, in whole steps.

    Attributes
    ----------
    name : of the column.
    step : the unit; a value is rounded to the nearest multiple.
    low, high : what a user's total of a label is clamped to, steps.
    center : steps that are taken from each such total before totals are added.
    starts : where cells of totals start after the first, ascending, in steps; each user is counted
        in the cell of the total that is farthest outside of the clamp. Empty if users are not
        counted.
    """

    name: str
    step: Fraction
    low: int
    high: int
    center: int
    starts: tuple[int, ...] = ()

    def clamp(self, total: str) -> str:
        """Return the expression of a clamped total, about the center."""
        return f"(least(greatest({total}, {self.low}), {self.high}) - {self.center})"

    def find_farthest(self, least: str, most: str) -> str:
        """Return the expression of the one of two totals that is farther outside of the clamp."""
        return (
            f"CASE WHEN {most} - {self.high} >= {self.low} - {least} THEN {most} ELSE {least} END"
        )


def check_kind(kind: pa.DataType, name: str, use: str = "be summed") -> None:
    """Refuse a column of a type that is no number; `use` is what its values are to do.

    Raises
    ------
    ColumnError
    """
    types = pa.types
    while types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)
    if not number and not types.is_decimal(kind):
        raise ColumnError(
            f"column {name!r} must hold numbers to {use}: cast it, in pandas with pd.to_numeric"
        )


def snap(values: pa.Array, step: Fraction, *, text: bool) -> pa.Array:
    """Return the nearest whole number of steps of each value, int64; null where one is missing.

    Parameters
    ----------
    values : column of numbers, or of text that writes numbers.
    step : above 0.
    text : whether the values are text.

    Raises
    ------
    UnreadableText
        If a text is no number.

    >>> snap(pa.array([0.125, 0.375, 1e300, None]), Fraction(1, 4), text=False).to_pylist()
    [0, 2, 4611686018427387903, None]
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), pa.int64())
    if text:
        texts, floats = read_real_texts(values)
        return _snap_floats(
            floats, step, lambda rows: [Fraction(Decimal(texts[i].as_py())) for i in rows]
        )
    if pa.types.is_floating(values.type):
        floats = values.cast(pa.float64())
        return _snap_floats(floats, step, lambda rows: [Fraction(floats[i].as_py()) for i in rows])
    return _snap_exact(values, step)


def _snap_floats(
    floats: pa.Array, step: Fraction, exactly: Callable[[Iterable[int]], list[Fraction]]
) -> pa.Array:
    """Round floats near the values; `exactly` returns those of rows that floats do not decide."""
    missing: BoolArray = pc.is_null(floats, nan_is_null=True).to_numpy(zero_copy_only=False)
    near = pc.fill_null(floats, 0.0).to_numpy(zero_copy_only=False)
    near = np.where(missing, 0.0, near)
    with np.errstate(over="ignore", under="ignore"):
        scaled: FloatArray = near * float(1 / step)
    size = np.abs(scaled)
    found: IntArray = np.rint(np.where(size < _SURE, scaled, 0.0)).astype(np.int64)
    apart = np.abs(size - np.floor(np.minimum(size, _SURE)) - 0.5)
    open_ = (size < _SURE) & (apart <= size * _DOUBT)
    huge = (size >= _SURE) & (size < 2.0**63)
    for row, value in _pairs(np.flatnonzero(open_ | huge), exactly):
        found[row] = _nearest(value, step)
    found[size >= 2.0**63] = LARGEST
    found[(size >= 2.0**63) & (scaled < 0)] = -LARGEST
    return pa.array(found, mask=missing)


def _pairs(
    rows: Any, exactly: Callable[[Iterable[int]], list[Fraction]]
) -> Iterable[tuple[int, Fraction]]:
    listed = rows.tolist()
    return zip(listed, exactly(listed), strict=True)


def _nearest(value: Fraction, step: Fraction) -> int:
    return max(-LARGEST, min(round(value / step), LARGEST))  # to even, as Python rounds fractions


def _snap_exact(values: pa.Array, step: Fraction) -> pa.Array:
    """Round whole numbers and decimals."""
    missing: BoolArray = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(values.type):
        filled = pc.fill_null(values, 0)
        least, most = (pc.min_max(filled)[end].as_py() or 0 for end in ("min", "max"))
        size = max(abs(least), abs(most))
        above, below = step.denominator, step.numerator
        if size * above < 2**61 and below < 2**61:
            units = filled.cast(pa.int64()).to_numpy() * above
            whole, rest = np.divmod(units, below)
            up = (2 * rest > below) | ((2 * rest == below) & (whole % 2 == 1))
            return pa.array(whole + up, mask=missing)
    texts = values.cast(pa.decimal256(76, values.type.scale)) if _is_decimal(values) else values
    found = [0 if each is None else _nearest(Fraction(each), step) for each in texts.to_pylist()]
    return pa.array(np.array(found, np.int64), mask=missing)


def _is_decimal(values: pa.Array) -> bool:
    return bool(pa.types.is_decimal(values.type))


__all__ = ["NO_NUMBERS", "Summed", "UnreadableText", "check_kind", "snap"]
