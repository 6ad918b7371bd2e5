"""Values as whole steps in Spark, as SQL: its workers need no Python to round them.

The rule is that of `steps`, and so are the results: a value is written as a fraction of a step,
numerator and denominator whole numbers of 38 digits, which Spark's decimals divide exactly. Of a
float, a power of two makes a whole number of 53 bits; which power, is found among powers of two by
comparing. Nothing is rounded before the last step, halfway to even.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pyarrow as pa

from dphist.counting.binning.spark_slots import by_bisection
from dphist.counting.bounding.steps import Summed, check_kind
from dphist.counting.checks import LARGEST
from dphist.counting.engine.rows import SparkRows
from dphist.errors import ColumnError

_WIDE = "DECIMAL(38, 0)"
_MOST = 10**38 - 1  # of such a decimal
_FLOAT_BITS = 53
_LARGEST_POWER = 1023  # of two that is a float
_MOST_DIGITS = 18  # after the point of a decimal that are split off exactly


def snap_in_spark(
    rows: SparkRows,
    summed: Mapping[str, Summed],
    kinds: Mapping[str, pa.DataType],
    others: Sequence[str],
) -> SparkRows:
    """Return rows with the nearest whole number of steps, int64, in place of each value.

    Parameters
    ----------
    rows : the columns of the values and `others`.
    summed : the steps of each column of values, by role. A null or NaN becomes null.
    kinds : the Arrow types of the columns, by role.
    others : names of further columns, which are kept.

    Raises
    ------
    ColumnError
        If a column holds no numbers, or Spark's decimals cannot hold its fractions of a step.
    """
    held = [*summed, *others]
    for role, each in summed.items():
        check_kind(kinds[role], each.name)
        others = [name for name in held if name != role]
        snap = _snap_floats if pa.types.is_floating(kinds[role]) else _snap_exact
        rows = _divide(snap(rows, role, each, kinds[role], others), role, others)
    return rows


def _divide(rows: SparkRows, role: str, others: Sequence[str]) -> SparkRows:
    """From a value and its size, as the fraction above / below, to whole steps, halfway to even."""
    divided = rows.project(
        *("above div below AS whole", "above % below AS rest", "below"), role, *others
    )
    up = "rest * 2 > below OR rest * 2 = below AND whole % 2 = 1"
    size = divided.project(
        f"least(CASE WHEN {up} THEN whole + 1 ELSE whole END, {LARGEST}) AS size", role, *others
    )
    steps = f"CASE WHEN {role} < 0 THEN -size WHEN {role} IS NOT NULL THEN size END AS {role}"
    return size.project(steps, *others)


def _snap_exact(
    rows: SparkRows, role: str, each: Summed, kind: pa.DataType, others: Sequence[str]
) -> SparkRows:
    """Return the size of whole numbers and decimals as fractions of a step."""
    decimal = pa.types.is_decimal(kind)
    scale, digits = (kind.scale, kind.precision) if decimal else (0, 19)
    units = each.step * Fraction(10) ** scale
    above, below = units.denominator, units.numerator
    if not 0 <= scale <= _MOST_DIGITS or max(10**digits * above, 4 * below) > _MOST:
        raise _too_long(each.name)
    if decimal:
        rest = f"CAST({role} % 1 AS DECIMAL({scale or 1}, {scale}))"
        wide = rows.project(f"{role} - {role} % 1 AS whole", f"{rest} AS rest", role, *others)
        number = f"(CAST(whole AS {_WIDE}) * {10**scale} + CAST(rest * {10**scale} AS {_WIDE}))"
    else:
        wide, number = rows, f"CAST({role} AS {_WIDE})"
    wide = wide.project(f"{number} * {above} AS number", role, *others)
    size = "greatest(number, -number)"
    if LARGEST * below < _MOST:
        size = f"least({size}, {LARGEST * below})"
    return wide.project(
        f"CASE WHEN {role} IS NOT NULL THEN CAST({size} AS {_WIDE}) END AS above",
        f"CAST({below} AS {_WIDE}) AS below",
        role,
        *others,
    )


def _snap_floats(
    rows: SparkRows, role: str, each: Summed, kind: pa.DataType, others: Sequence[str]
) -> SparkRows:
    """Return the size of floats as fractions of a step: 0 below a quarter of a step."""
    assert pa.types.is_floating(kind)  # noqa: S101 - see `snap_in_spark`
    powers = _powers(each.step)
    last_bits = [Fraction(2) ** (power - _FLOAT_BITS + 1) / each.step for power in powers[:-1]]
    above = [bit.numerator for bit in last_bits]
    below = [bit.denominator for bit in last_bits]
    beyond = max(powers[-1], _FLOAT_BITS - 1 - powers[0]) > _LARGEST_POWER
    if beyond or max(above) << _FLOAT_BITS > _MOST or 4 * max(below) > _MOST:
        raise _too_long(each.name)
    lists = {
        "bits": pa.array([0.0, *(2.0 ** (_FLOAT_BITS - 1 - power) for power in powers[:-1])]),
        "over": pa.array([0, *above, LARGEST], pa.decimal128(38, 0)),
        "under": pa.array([1, *below, 1], pa.decimal128(38, 0)),
    }
    number = f"CASE WHEN NOT isnan({role}) THEN CAST({role} AS DOUBLE) END AS {role}"
    sized = rows.project(number, *others).project(
        f"greatest({role}, -{role}) AS value", role, *others
    )
    placed = sized.beside({"powers": pa.array([2.0**power for power in powers])}).project(
        f"CAST({by_bisection(len(powers), 'powers')} AS INT) AS place", "value", role, *others
    )
    whole = f"CASE WHEN place = {len(powers)} THEN 1 ELSE CAST(value * get(bits, place) AS BIGINT)"
    return placed.beside(lists).project(
        f"CAST({whole} END AS {_WIDE}) * get(over, place) AS above",
        "get(under, place) AS below",
        role,
        *others,
    )


def _powers(step: Fraction) -> list[int]:
    """Return exponents of two from below a quarter of a step to above the largest value."""
    powers = [step.numerator.bit_length() - step.denominator.bit_length() - 3]
    while Fraction(2) ** powers[-1] < (LARGEST + 1) * step:
        powers.append(powers[-1] + 1)
    return powers


def _too_long(name: str) -> ColumnError:
    return ColumnError(
        f"column {name!r} has too many digits to be rounded to its step in Spark: cast it, for "
        "example to DECIMAL(18, 6), or write the step with fewer digits"
    )
