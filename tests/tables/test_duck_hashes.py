"""NumPy's hashes are DuckDB's; where they are not, DuckDB computes them, with the same counts."""

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dphist.arrays import WordArray
from dphist.tables.counting import duck_hashes
from dphist.tables.counting.duck_hashes import as_words, hash_integers, mix, numpy_knows
from dphist.tables.counting.users import records as user_records
from tests.tables.binned_users import KEYS, UserRows, kept, kept_in_python, some_rows, table_of

KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.fixture(name="connection")
def opened() -> Any:
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("kind", KINDS)
def test_hashes_of_integers_are_those_of_duckdb(kind: str, connection: Any) -> None:
    limits = np.iinfo(kind)
    numbers = np.random.default_rng(7).integers(limits.min, limits.max, 500, kind, endpoint=True)
    numbers[:2] = limits.min, limits.max
    found = connection.from_arrow(pa.table({"n": numbers})).project("n, hash(n) AS h")
    values, hashes = found.to_arrow_table().columns
    computed = hash_integers(as_words(values.to_numpy()), limits.bits)
    assert computed.tolist() == hashes.to_pylist()


def undone(mixed: int) -> int:
    """Return the number of which `mix` makes another."""
    inverse = pow(0xD6E8FEB86659FD93, -1, 2**64)
    for _ in range(2):
        mixed = (mixed ^ mixed >> 32) * inverse % 2**64
    return mixed ^ mixed >> 32


@pytest.mark.parametrize("kind", KINDS)
def test_different_integers_have_different_hashes(kind: str) -> None:
    limits = np.iinfo(kind)
    numbers = np.random.default_rng(8).integers(limits.min, limits.max, 500, kind, endpoint=True)
    numbers[:2] = limits.min, limits.max
    modulus = 2 ** (64 if limits.bits == 64 else 32)
    found = [undone(hashed) for hashed in hash_integers(as_words(numbers), limits.bits).tolist()]
    assert found == [number % modulus for number in numbers.tolist()]


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck_hashes, "_known", [])


def test_hashes_are_known_of_this_duckdb(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)
    assert numpy_knows(connection)


def mix_of_another_version(words: WordArray) -> WordArray:
    """Differ in one hash of many: that of a number with all bits but one."""
    rare = words == np.uint64(2**64 - 2)
    mixed = mix(words)
    mixed[rare] ^= np.uint64(1)
    return mixed


@pytest.mark.parametrize("user", [pa.int64(), pa.string()])
def test_a_duckdb_with_other_hashes_computes_them_itself(
    user: pa.DataType, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    monkeypatch.setattr(duck_hashes, "mix", mix_of_another_version)
    assert not numpy_knows(connection)
    monkeypatch.setattr(user_records, "mix", None)  # is not called
    names = {who: number for number, (who, _) in enumerate(some_rows(3))}
    kind = int if user == pa.int64() else str
    rows: UserRows = [(kind(names[who]), value) for who, value in some_rows(3)]
    assert kept(table_of(rows, user), 3, KEYS[0]) == kept_in_python(rows, 3, KEYS[0])
