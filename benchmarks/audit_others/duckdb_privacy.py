"""What the DuckDB extension `privacy` releases, seen through SQL.

    git clone --recurse-submodules https://github.com/cwida/privacy && cd privacy && GEN=ninja make
    pip install duckdb==1.5.4 numpy
    python -m benchmarks.audit_others.duckdb_privacy PATH/privacy.duckdb_extension

PATH is the folder where the build has put the extension. It loads only into the version of DuckDB
that it was built for: 1.5.4 at commit edd11643. All data are made up; nothing of dphist is used.
"""

import argparse
import ctypes
import importlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

Rows = list[tuple[Any, ...]]
OUTCOMES = 2_000  # sums of floats, for each of two tables
RUNS = 3_000  # counts of orders, with and without a customer
PEOPLE = "SELECT i AS id, 'a' AS label, .5::DOUBLE AS amount FROM range({}) t(i)"
RARE = "SELECT 5000 AS id, 'rare' AS label, .5::DOUBLE AS amount"
PAIRS = """SELECT 10000 * k + i AS id, first, second, 0::DOUBLE AS amount FROM range(1000) t(i),
    (VALUES (1, 'a', 'a'), (2, 'a', 'b'), (3, 'b', 'a'), (4, 'b', 'b')) v(k, first, second)"""
SETTINGS = {
    "dp_epsilon": "1",
    "dp_delta": "1e-6",
    "dp_count_bound": "1",
    "dp_sum_bound": "1",
    "dp_max_groups_contributed": "1",
    "dp_sass_count_output_bound": "2000",
    "dp_sass_sum_output_bound": "2000",
}
TPCH = """
CREATE TABLE customer AS SELECT i AS c_custkey, 'name ' || i AS c_name FROM range(1500) t(i);
CREATE TABLE orders AS SELECT i AS o_orderkey, i % 1500 AS o_custkey FROM range(15000) t(i);
CREATE TABLE lineitem AS SELECT i % 15000 AS l_orderkey, ['A', 'N', 'R'][1 + i % 3] AS l_returnflag,
    ['F', 'O'][1 + i % 2] AS l_linestatus,
    (i * 7919 % 100000)::DECIMAL(15, 2) AS l_extendedprice FROM range(60000) t(i);
ALTER TABLE customer ADD PRIVACY_KEY (c_custkey);
ALTER TABLE customer SET PU;
ALTER PU TABLE customer ADD PROTECTED (c_name);
ALTER TABLE orders ADD PRIVACY_LINK (o_custkey) REFERENCES customer(c_custkey);
ALTER TABLE lineitem ADD PRIVACY_LINK (l_orderkey) REFERENCES orders(o_orderkey)"""
SUMS = """SELECT l_returnflag, l_linestatus, SUM(l_extendedprice) FROM lineitem
    GROUP BY ALL ORDER BY ALL"""


class Database:
    """A fresh database in memory that has the extension.

    Parameters
    ----------
    extension : the file of the extension.
    mode : `privacy_mode`, one of the extension's mechanisms.
    settings : others than `SETTINGS`.
    """

    def __init__(self, extension: Path, mode: str, **settings: object) -> None:
        self._connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        self.run(f"LOAD '{extension}'", "PRAGMA clear_privacy_metadata")
        for name, value in (SETTINGS | {"privacy_mode": f"'{mode}'"} | settings).items():
            self.run(f"SET {name} = {value}")

    def run(self, *statements: str) -> None:
        """Run statements that have no result."""
        for statement in statements:
            self._connection.execute(statement)

    def add_people(self, query: str) -> None:
        """Add a table `people`, a row for each person."""
        self.run(
            f"CREATE TABLE people AS {query}",
            "ALTER TABLE people ADD PRIVACY_KEY (id)",
            "ALTER TABLE people SET PU",
            "ALTER PU TABLE people ADD PROTECTED (id, amount)",
        )

    def query(self, query: str) -> Rows:
        """Return the rows of a query."""
        return self._connection.execute(query).fetchall()

    def value(self, query: str) -> Any:
        """Return the single value of a query."""
        return self.query(query)[0][0]


def show_default_seed(extension: Path) -> None:
    """Print what two fresh databases release after the same statements."""
    query = "SELECT count(*), sum(amount) FROM people"
    for mode in ("dp_standard", "dp_elastic", "dp_sass", "pac"):
        released = []
        for people in (1000, 1000, 5000):
            database = Database(extension, mode)
            database.add_people(PEOPLE.format(people))
            released.append([database.query(query)[0] for _ in range(3)])
        print(f"  {mode}: 1,000 people {released[0]}")
        print(f"  {mode}: again        {released[1]}")
        print(f"  {mode}: 5,000 people {released[2]}")


def show_secret_seed(extension: Path) -> None:
    """Print how often two queries show whether they differ by a person."""
    for mode in ("dp_standard", "dp_elastic"):
        exact = 0
        for _ in range(20):
            database = Database(extension, mode, privacy_seed=secrets.randbits(62))
            database.add_people(PEOPLE.format(1000))
            everybody = database.value("SELECT count(*) FROM people")
            others = database.value("SELECT count(*) FROM people WHERE id <> 5")
            nobody = database.value("SELECT count(*) FROM people WHERE id <> 5000")
            exact += everybody - others == 1 and everybody == nobody
        print(f"  {mode}: the difference of two counts is exact for {exact} of 20 secret seeds")


def show_shared_cells(extension: Path) -> None:
    """Print noisy sums of zeros in four cells of 1,000 people."""
    query = "SELECT first, second, sum(amount) FROM people GROUP BY ALL ORDER BY ALL"
    for mode in ("dp_standard", "dp_elastic"):
        database = Database(extension, mode, privacy_seed=secrets.randbits(62))
        database.add_people(PAIRS)
        print(f"  {mode}: {database.query(query)}")


def show_digits(extension: Path) -> None:
    """Print how many noisy sums of 0 and of 1 have digits beyond 2^-53."""
    for total in (0, 1):
        database = Database(extension, "dp_standard")
        database.add_people(f"SELECT 1 AS id, {total}::DOUBLE AS amount")
        query = "SELECT sum(amount) FROM people"
        sums = np.array([database.value(query) for _ in range(OUTCOMES)])
        fine = np.count_nonzero(np.ldexp(sums, 53) % 1)
        print(f"  sum {total}: {fine} of {OUTCOMES} outcomes are no multiple of 2^-53")


def show_one_person(extension: Path) -> None:
    """Print what a person whose label nobody else has adds to a release."""
    grouped = "SELECT label, count(*) FROM people GROUP BY label ORDER BY label"
    for mode in ("dp_standard", "dp_elastic", "dp_sass"):
        for query in (PEOPLE.format(1000), f"{PEOPLE.format(1000)} UNION ALL {RARE}"):
            database = Database(extension, mode)
            database.add_people(query)
            labels = [label for label, _ in database.query(grouped)]
            counts = database.value("SELECT count(*) FROM people WHERE label = 'rare'")
            sums = database.value("SELECT sum(amount) FROM people WHERE label = 'rare'")
            print(f"  {mode}: labels {labels}, count of 'rare' {counts}, sum {sums}")


def show_unit(extension: Path) -> None:
    """Print how often a count of orders is near 100, without and with a customer of 50 orders."""
    for orders in (0, 50):
        database = Database(extension, "dp_elastic")
        database.run(
            f"CREATE TABLE customer AS SELECT i AS id FROM range({101 if orders else 100}) t(i)",
            f"""CREATE TABLE orders AS SELECT i AS customer FROM range(100) t(i)
                UNION ALL SELECT 100 FROM range({orders})""",
            "ALTER TABLE customer ADD PRIVACY_KEY (id)",
            "ALTER TABLE customer SET PU",
            "ALTER TABLE orders ADD PRIVACY_LINK (customer) REFERENCES customer(id)",
        )
        near = 0
        for _ in range(RUNS):
            database.run(f"SET privacy_seed = {secrets.randbits(62)}")
            near += abs(database.value("SELECT count(*) FROM orders") - 100) <= 5
        print(f"  {100 + orders} orders: {near} of {RUNS} counts are in 95 to 105")


def show_example(extension: Path) -> None:
    """Print the example of its README, on made-up tables of the same names."""
    database = Database(extension, "dp_elastic", dp_sum_bound=100000, privacy_seed=42)
    database.run(*TPCH.split(";"))
    try:
        database.query("SELECT c_name FROM customer")
    except duckdb.Error as error:
        print(f"  a protected column: {error}")
    print(f"  dp_elastic: {[float(row[2]) for row in database.query(SUMS)]}")
    database.run("SET privacy_mode = 'pac'")
    plan = database.query(f"EXPLAIN {SUMS}")[0][1]
    print(f"  a join with orders was added to the plan of pac: {'memory.main.orders' in plan}")
    database.run("SET privacy_mode = 'dp_standard'", "SET privacy_noise = false")
    database.run("SET dp_max_groups_contributed = 6", "SET dp_count_bound = 40")
    counts = [database.value("SELECT count(*) FROM lineitem")]
    database.run("SET dp_count_bound = 30")
    counts.append(database.value("SELECT count(*) FROM lineitem"))
    print(f"  1,500 customers with 40 lines each, at most 40, at most 30 counted: {counts}")


SHOWN: dict[str, Callable[[Path], None]] = {
    "Three queries in fresh databases, after the same statements": show_default_seed,
    "A secret seed": show_secret_seed,
    "Sums of zeros in four cells of 1,000 people each": show_shared_cells,
    "Digits of sums": show_digits,
    "Nobody with the label 'rare', and one person": show_one_person,
    "A customer of 50 orders": show_unit,
    "The example of its README, on made-up tables of the same names": show_example,
}


def main() -> None:
    """Print what is seen of each claim."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_others.duckdb_privacy")
    parser.add_argument("extension", type=Path)
    extension = parser.parse_args().extension
    # An extension that was linked without DuckDB finds its functions in the Python package.
    ctypes.CDLL(importlib.import_module("_duckdb").__file__, mode=ctypes.RTLD_GLOBAL)
    for heading, show in SHOWN.items():
        print(heading)
        show(extension)


if __name__ == "__main__":
    main()
