"""The comparison over unknown labels: its data, its truth, and what it does when one fails."""

import sys
from collections import Counter
from dataclasses import asdict

import duckdb
import pytest
from benchmarks.label_speed import write_rows

from benchmarks import labels


@pytest.fixture
def job(tmp_path) -> labels.Job:
    path = tmp_path / "rows.parquet"
    write_rows(path, 20_000, users=2000, labels=20)
    return labels.Job(str(path), "who", "text", max_labels=3, max_count=2, noise="gaussian")


def test_made_rows_are_the_same_each_time_and_within_their_ranges(job, tmp_path) -> None:
    again = tmp_path / "again.parquet"
    write_rows(again, 20_000, users=2000, labels=20)
    with duckdb.connect() as connection:
        first, second = (
            connection.read_parquet(str(path)).order("ALL").fetchall() for path in (job.path, again)
        )
    assert first == second
    assert len(first) == 20_000
    assert {who for who, _, _ in first} <= set(range(1, 2001))
    assert {number for _, number, _ in first} <= set(range(1, 21))
    assert all(text == f"label {number}" for _, number, text in first)


def test_true_counts_bound_what_a_user_adds_to_a_label(job) -> None:
    with duckdb.connect() as connection:
        rows = connection.read_parquet(job.path).project("who, text").fetchall()
    expected: Counter[str] = Counter()
    for (_, label), n in Counter(rows).items():
        expected[label] += min(n, job.max_count)
    assert max(Counter(rows).values()) > job.max_count
    assert labels.true_counts(job) == expected


def test_bounded_rows_keep_to_the_bounds_and_are_some_of_the_rows(job, tmp_path) -> None:
    with duckdb.connect() as connection:
        before, after = (
            Counter(connection.read_parquet(path).project("who, text").fetchall())
            for path in (job.path, labels.bounded(job, tmp_path / "bounded.parquet").path)
        )
    kept = Counter(who for who, _ in after)
    assert all(n == min(before[pair], job.max_count) for pair, n in after.items())
    assert kept == {
        who: min(n, job.max_labels) for who, n in Counter(who for who, _ in before).items()
    }


@pytest.mark.verify
@pytest.mark.parametrize("name", ["dphist, file", "dphist, Polars"])
def test_a_contender_releases_labels_of_the_file(job, name) -> None:
    contender = labels.Contender(name, sys.executable, job)
    contender.run(labels.true_counts(job), counted=True)
    contender.close()
    row = contender.row(contender)
    assert contender.labels[0] > 0
    assert contender.errors[0] < max(labels.true_counts(job).values())
    assert row[2] == row[4] == "1.0"
    assert len(row) == len(labels.HEAD)


@pytest.mark.verify
def test_a_contender_that_dies_is_shown_as_failed(job) -> None:
    missing = asdict(job) | {"path": "/nowhere.parquet"}
    contender = labels.Contender("dphist, Polars", sys.executable, labels.Job(**missing))
    contender.run({}, counted=True)
    contender.close()
    assert contender.row(contender)[1] == "failed"
    assert len(contender.row(contender)) == len(labels.HEAD)


def test_bounds_are_read() -> None:
    assert labels.bounds("10x1") == (10, 1)


@pytest.mark.verify
def test_a_file_of_ones_own_takes_the_place_of_all_tables(job, capsys, monkeypatch) -> None:
    words = ["--file", job.path, "--user", "who", "--label", "text"]
    asked = ["labels", *words, "--turns", "1", "--noise", "laplace", "--bounds", "3x2"]
    monkeypatch.setattr(labels, "WORKERS", {"dphist, file": labels.dphist_file})
    monkeypatch.setattr(sys, "argv", asked)
    labels.main()
    printed = capsys.readouterr().out
    assert "rows: 3 labels, 2 a label, laplace noise" in printed
    assert printed.count("| dphist, file |") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--file", "rows.parquet"], "go together"),
        (["--file", "rows.csv", "--user", "a", "--label", "b"], "no Parquet file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(words, said, capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["labels", *words])
    with pytest.raises(SystemExit):
        labels.main()
    assert said in capsys.readouterr().err
