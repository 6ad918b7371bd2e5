"""The queries whose times are compared count the same rows."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from benchmarks.bins_speed import EDGES, cases, table_rows, write_rows


@pytest.mark.verify
def test_every_case_counts_the_rows_and_users_are_bounded(tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.parquet", 3000
    write_rows(path, rows)
    with duckdb.connect() as connection:
        sizes = connection.read_parquet(str(path)).aggregate("who, count(*) AS n")
        listed = list(cases(path, connection))
        assert [axes for _, axes, *_ in listed].count(2) == len(listed) // 2 - 1
        for name, axes, _, most, run in listed:
            found = run()
            if name != "dphist":
                assert found == [(rows,)]
                continue
            kept = sizes.aggregate(f"sum(least(n, {most or rows}))").fetchall()[0][0]
            assert found.counts.shape == tuple(len(each) - 1 for each in EDGES.values())[:axes]
            assert found.counts.sum() == kept
    table = list(table_rows(listed, np.ones((2, len(listed), 2))))
    assert all(row[-1] == "1.00 ± 0.00" for row in table)
