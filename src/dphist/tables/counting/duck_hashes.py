"""DuckDB's hash of whole numbers, computed by NumPy in a fraction of the time.

DuckDB does not promise which hash it has. So before NumPy computes any, its hashes of some thousand
numbers are compared with DuckDB's. If one is different, DuckDB hashes everything. That is decided
once in a process, by the version of DuckDB alone, so no row of a table can change a hash.
"""

import duckdb
import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, WordArray

# The steps of DuckDB's hash: a shift and a product, twice, and a shift.
_SHIFT, _FACTOR = np.uint64(32), np.uint64(0xD6E8FEB86659FD93)
_PROBES = 4096
_SEED = 20261125

# How each type of DuckDB's integers is called in Arrow.
_KINDS = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()
)  # fmt: skip

_known: list[bool] = []


def mix(words: WordArray) -> WordArray:
    """Return DuckDB's hash of UBIGINT; computed in place."""
    for _ in range(2):
        words ^= words >> _SHIFT
        words *= _FACTOR
    words ^= words >> _SHIFT
    return words


def hash_integers(numbers: WordArray, bits: int) -> WordArray:
    """Return DuckDB's hash of integers of a type with this many bits.

    Parameters
    ----------
    numbers : (n,) uint64, the integers, those below 0 as their bits.
    """
    # DuckDB takes shorter integers as 32 bits.
    return mix(numbers & np.uint64(2**32 - 1) if bits < 64 else numbers.copy())


def hash_known(values: AnyArray, bits: int | None) -> WordArray:
    """Return DuckDB's hash of values, which are integers of so many bits, or hashes if None."""
    return as_words(values) if bits is None else hash_integers(as_words(values), bits)


def numpy_knows(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether NumPy's hashes are DuckDB's, of integers of all types."""
    if not _known:  # two threads may both ask, and get the same answer
        _known.append(all(_agree(connection, kind) for kind in _KINDS))
    return _known[0]


def _agree(connection: duckdb.DuckDBPyConnection, kind: pa.DataType) -> bool:
    powers = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    drawn = np.random.default_rng(_SEED).integers(0, 2**64, _PROBES, np.uint64)
    words = np.concatenate([np.zeros(1, np.uint64), powers, ~powers, drawn])
    numbers = words.astype(kind.to_pandas_dtype())
    given = connection.from_arrow(pa.table({"number": pa.array(numbers, kind)}))
    found, hashes = given.project("number, hash(number) AS hashed").to_arrow_table().columns
    bits = as_words(found.to_numpy())
    return bool((hash_integers(bits, kind.bit_width) == hashes.to_numpy()).all())


def as_words(numbers: AnyArray) -> WordArray:
    """Return integers of any type as 64 bits; a copy unless they have 64."""
    if numbers.dtype == np.uint64:
        return numbers
    return numbers.astype(np.int64, copy=False).view(np.uint64)
