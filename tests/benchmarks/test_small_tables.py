"""All kinds of small tables that are timed have the same rows."""

from pathlib import Path

from benchmarks.small_tables import PLAIN, row_of, runs_of, tables


def test_every_table_has_the_same_counts(tmp_path: Path) -> None:
    runs = runs_of(tables(90, tmp_path))  # of 9 labels: no user is cut
    plain = runs.pop(PLAIN)().to_pylist()
    labels, users = [row["text"] for row in plain], [row["users"] for row in plain]
    found = {name: run().counts_of(labels) for name, run in runs.items()}
    assert len(found) == 7
    assert all(counts == users for counts in found.values())
    assert row_of("one", [1.0, 3.0], [1.0, 1.0]) == ["one", "2.0", "1.0", "1.0", "2.0"]
