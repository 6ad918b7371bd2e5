"""The same edges give the same degrees, whatever holds them."""

import itertools
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist import counting
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from tests.support.counting.backends import (
    DAY,
    NOON,
    Backend,
    assert_pairs,
    csv_text,
    every_backend,
    needing,
    pairs_of,
    text,
    whole,
    written,
    zstd,
)
from tests.support.refusal import NUMBER, SENTINEL, refused

Edge = tuple[Any, Any]

both_kinds = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])


def degrees_of(edges: list[Edge], directed: bool = False) -> tuple[list[int], list[int]]:
    """The pairs a plain Python program finds."""
    sources = [edge[0] for edge in edges]
    targets = [] if directed else [edge[1] for edge in edges]
    return pairs_of(Counter(sources + targets).values())


def table_of(edges: list[Edge], kind: pa.DataType | None = None) -> pa.Table:
    columns = [pa.array([edge[end] for edge in edges], kind or pa.string()) for end in (0, 1)]
    return pa.table({"from": columns[0], "note": text([""] * len(edges)), "to": columns[1]})


def counted(frame: object, source: str = "from", target: str = "to", **options: Any) -> Any:
    return counting.count_degrees(frame, source=source, target=target, **options)


def plain(frame: object, **options: Any) -> tuple[list[int], list[int]]:
    found, prevalences = counted(frame, **options)
    return found.tolist(), prevalences.tolist()


nodes = st.sampled_from(["", "a", "A", " a", "b", "007", "7", "NULL", 'q"q', "x,\ty", "1\n2", "é"])


@pytest.mark.long(every=4)
@every_backend
@settings(max_examples=8, deadline=None)
@given(edges=st.lists(st.tuples(nodes, nodes), max_size=30))
def test_degrees_are_counted_as_python_counts_them(backend: Backend, edges: list[Edge]) -> None:
    with tempfile.TemporaryDirectory(dir=Path(tempfile.gettempdir()).parent) as folder:
        frame = backend.make(table_of(edges), Path(folder))
        assert_pairs(counted(frame), degrees_of(edges))
        assert_pairs(counted(frame, "to", "from"), degrees_of(edges))
        assert_pairs(counted(frame, directed=True), degrees_of(edges, directed=True))
        swapped = [(target, source) for source, target in edges]
        assert_pairs(counted(frame, "to", "from", directed=True), degrees_of(swapped, True))


# What is particular: an edge, the same again, the same the other way round, a loop twice.
PARTICULAR = [("a", "b"), ("a", "b"), ("b", "a"), ("c", "c"), ("c", "c"), ("d", "a")]


@every_backend
@pytest.mark.quick(every=4)
def test_loops_and_repeated_edges(backend: Backend, tmp_path: Path) -> None:
    frame = backend.make(table_of(PARTICULAR), tmp_path)
    assert_pairs(counted(frame), ([1, 3, 4], [1, 1, 2]))  # d; b; a and c
    assert_pairs(counted(frame, directed=True), ([1, 2], [2, 2]))  # b and d; a and c
    assert_pairs(counted(frame, "to", "from", directed=True), ([2], [3]))  # a, b, c


@pytest.mark.quick(
    "undirected-pyarrow]", "undirected-duckdb]", "undirected-pandas]", "undirected-csv]"
)
@every_backend
@both_kinds
def test_a_table_without_edges_is_valid(backend: Backend, directed: bool, tmp_path: Path) -> None:
    frame = backend.make(table_of([]), tmp_path)
    assert_pairs(counted(frame, directed=directed), ([], []))


@pytest.mark.quick("-pyarrow]", "-duckdb]")
@needing("typed")
@pytest.mark.parametrize(
    ("first", "second", "third", "kind"),
    [
        (1, 2**62 + 1, 2**62, pa.int64()),
        (1, 2, 3, pa.int8()),
        ("x", "y", "z", pa.dictionary(pa.int32(), pa.string())),
        (DAY, DAY.replace(year=2021), DAY.replace(year=2022), pa.date32()),
        (NOON, NOON.replace(hour=1), NOON.replace(hour=2), pa.timestamp("us", "UTC")),
        (b"\xff\x00", b"", b"\xff", pa.binary()),
    ],
    ids=["int64", "int8", "categories", "dates", "times", "bytes"],
)
def test_nodes_of_other_types(
    backend: Backend, first: Any, second: Any, third: Any, kind: pa.DataType, tmp_path: Path
) -> None:
    edges = [(first, second), (first, third), (third, third)]
    if pa.types.is_dictionary(kind):  # each column with a dictionary of its own
        strings = table_of(edges)
        columns = [strings[name].dictionary_encode() for name in ("from", "to")]
        frame = backend.make(pa.table({"from": columns[0], "to": columns[1]}), tmp_path)
    else:
        frame = backend.make(table_of(edges, kind), tmp_path)
    assert_pairs(counted(frame), ([1, 2, 3], [1, 1, 1]))
    assert_pairs(counted(frame, directed=True), ([1, 2], [1, 1]))


@pytest.mark.long(every=2)
@pytest.mark.quick("undirected-pyarrow]", "undirected-duckdb]")
@every_backend
@both_kinds
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("source", "target"),
        ("target", "source"),
        ("label", "problem"),
        ("records", "variable"),
        ("value", "a.b"),
        ('a"b', "*"),
        ("^.*$", "größe"),
    ],
)
def test_column_names_do_not_collide_with_ours(
    backend: Backend, source: str, target: str, directed: bool, tmp_path: Path
) -> None:
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "c")]
    table = pa.table({target: text([e[1] for e in edges]), source: text([e[0] for e in edges])})
    result = counted(backend.make(table, tmp_path), source, target, directed=directed)
    assert_pairs(result, degrees_of(edges, directed))


@pytest.mark.quick(
    "undirected-pyarrow]", "undirected-duckdb]", "undirected-pandas]", "undirected-csv]"
)
@every_backend
@both_kinds
@pytest.mark.parametrize("missing", ["from", "to"])
def test_a_missing_node_is_refused(
    backend: Backend, missing: str, directed: bool, tmp_path: Path
) -> None:
    edges = [(SENTINEL, SENTINEL), (SENTINEL, "b"), ("c", SENTINEL)]
    table = table_of(edges)
    gap = text([SENTINEL, None, SENTINEL])
    table = table.set_column(table.column_names.index(missing), missing, gap)
    with refused(DataError, f"'{missing}'", "without a node", "drop them"):
        counted(backend.make(table, tmp_path), directed=directed)


@pytest.mark.quick(every=3)
@every_backend
def test_an_edge_without_nodes_is_refused(backend: Backend, tmp_path: Path) -> None:
    with refused(DataError, "without a node"):
        counted(backend.make(table_of([("a", SENTINEL), (None, None)]), tmp_path))


@every_backend
@both_kinds
def test_a_missing_column_is_refused(backend: Backend, directed: bool, tmp_path: Path) -> None:
    frame = backend.make(table_of([(SENTINEL, SENTINEL)]), tmp_path)
    with refused(ColumnError, "'gone'"):
        counted(frame, "gone", "to", directed=directed)
    with refused(ColumnError, "'gone'"):
        counted(frame, "from", "gone", directed=directed)


@pytest.mark.quick("undirected-pyarrow]", "undirected-duckdb]", "undirected-pandas]")
@needing("typed")
@both_kinds
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (text([SENTINEL]), whole([NUMBER])),
        (whole([NUMBER]), whole([NUMBER], pa.int32())),
        (whole([NUMBER]), pa.array([DAY])),
        (pa.array([SENTINEL]), pa.array([SENTINEL.encode()])),
    ],
    ids=["text-int64", "int64-int32", "int64-date", "text-bytes"],
)
def test_columns_of_two_types_are_refused(
    backend: Backend, one: pa.Array, other: pa.Array, directed: bool, tmp_path: Path
) -> None:
    for number, columns in enumerate([(one, other), (other, one)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = pa.table(dict(zip(("from", "to"), columns, strict=True)))
        frame = backend.make(table, folder)
        if isinstance(frame, pd.DataFrame) and pa.types.is_binary(other.type):
            frame = table.to_pandas(types_mapper=pd.ArrowDtype)  # else bytes are objects
        with refused(ColumnError, "'from' and 'to'", "same type", "cast both"):
            counted(frame, directed=directed)


@needing("typed")
@pytest.mark.parametrize(
    "values",
    [pa.array([1.5, NUMBER]), pa.array([[NUMBER], [1]]), pa.array([{"a": NUMBER}, {"a": 2}])],
    ids=["float", "list", "struct"],
)
def test_nodes_that_are_no_labels_are_refused(
    backend: Backend, values: pa.Array, tmp_path: Path
) -> None:
    for number, names in enumerate(itertools.permutations(("from", "to"))):
        (tmp_path / str(number)).mkdir()
        table = pa.table({names[0]: values, names[1]: text([SENTINEL, "b"])})
        with refused(ColumnError, f"'{names[0]}'", "cast"):
            counted(backend.make(table, tmp_path / str(number)))


@every_backend
def test_parameters_are_checked(backend: Backend, tmp_path: Path) -> None:
    frame = backend.make(table_of([(SENTINEL, "b")]), tmp_path)
    with refused(ParameterError, "source and target must be different columns"):
        counted(frame, "from", "from")
    with refused(ParameterError, "source"):
        counted(frame, 0, "to")  # type: ignore[arg-type]
    with refused(ParameterError, "target"):
        counted(frame, "from", None)
    for bad in (None, 1, 0, "yes"):
        with refused(ParameterError, "directed must be True or False"):
            counted(frame, directed=bad)
    with refused(ParameterError, "progress"):
        counted(frame, progress=3)


@pytest.mark.quick("[pyarrow]", "[csv]")
@every_backend
def test_every_table_has_progress(backend: Backend, tmp_path: Path) -> None:
    seen: list[float] = []
    counted(backend.make(table_of([("a", "b")]), tmp_path), progress=seen.append)
    assert seen[-1] == 1


@pytest.mark.parametrize("suffix", [".tsv", ".txt", ".csv.zst", ".tsv.zst"])
def test_other_files(suffix: str, tmp_path: Path) -> None:
    content = csv_text(table_of(PARTICULAR), "\t" if "tsv" in suffix else ",")
    path = written(tmp_path, "t" + suffix, zstd(content) if "zst" in suffix else content)
    assert plain(path) == degrees_of(PARTICULAR)
    assert plain(str(path), directed=True) == degrees_of(PARTICULAR, directed=True)


def test_nodes_of_a_text_file_are_text(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b"from,to\n7,007\n7, 7\n7.0,7\n")
    assert plain(path) == ([1, 3], [3, 1])


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"from,to\n{SENTINEL},b,c\n".encode())
    with refused(InputFileError, "t.csv"):
        counted(path)
    with refused(InputFileError, "does not exist"):
        counted(tmp_path / "gone.csv")


class Growing:
    """A table of two loops whose nodes are others at each evaluation."""

    def __init__(self) -> None:
        self.evaluations = 0

    def polars(self) -> pl.LazyFrame:
        def other_rows(frame: pl.DataFrame) -> pl.DataFrame:
            self.evaluations += 1
            return frame.select(pl.all() + 10 * self.evaluations)

        return pl.LazyFrame({"from": [1, 2], "to": [1, 2]}).map_batches(other_rows)

    def duckdb(self) -> duckdb.DuckDBPyRelation:
        def next_node(_: int) -> int:
            self.evaluations += 1
            return self.evaluations

        connection = duckdb.connect()
        connection.create_function("next", next_node, ["BIGINT"], "BIGINT", side_effects=True)
        return connection.sql(
            'SELECT n AS "from", n AS "to" FROM (SELECT next(i) n FROM range(2) t(i))'
        )


@both_kinds
def test_a_lazy_frame_is_evaluated_once(directed: bool) -> None:
    """Were it evaluated for each end, the two ends of a loop would be different nodes."""
    growing = Growing()
    assert plain(growing.polars(), directed=directed) == ([1 if directed else 2], [2])
    assert growing.evaluations == 1
    growing = Growing()
    assert plain(growing.duckdb(), directed=directed) == ([1 if directed else 2], [2])
    assert growing.evaluations == 2  # once a row


@pytest.mark.verify
def test_pandas_columns_of_objects() -> None:
    def frame(sources: list[Any], targets: list[Any]) -> pd.DataFrame:
        columns = {"from": sources, "to": targets}
        return pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()})

    assert plain(frame(["a", "b"], ["b", "b"])) == ([1, 3], [1, 1])
    assert plain(frame([2**80, 1], [1, 1])) == ([1, 3], [1, 1])
    assert plain(frame([DAY, DAY], [DAY, DAY.replace(day=2)])) == ([1, 3], [1, 1])
    for gap in (None, float("nan"), pd.NA):
        with refused(DataError, "'to'", "drop them"):
            plain(frame([SENTINEL, "b"], ["b", gap]))
    # Objects are one node if their text is. Python calls 1 and True one.
    for one, other in ((1, "1"), (1, Decimal(1)), (DAY, DAY.isoformat())):
        assert plain(frame([one, other], [other, one])) == ([4], [1])
    assert plain(frame([1, True], [True, 1])) == ([2], [2])
    # Text is compared with text of another type, and with nothing else.
    texts = pd.DataFrame(
        {"from": pd.Series(["1"], dtype="string"), "to": pd.Series([1], dtype=object)}
    )
    assert plain(texts) == ([2], [1])
    for rows in (1, 0):
        with refused(ColumnError, "'from' and 'to'", "exactly the same type"):
            plain(texts.astype({"from": "int64"})[:rows])


def test_integers_with_gaps_in_pandas() -> None:
    with refused(ColumnError, "'to'", "float", "missing values", "cast"):
        plain(pd.DataFrame({"from": [1, NUMBER], "to": [NUMBER, None]}))


def test_categories_of_pandas_and_polars() -> None:
    def frame(sources: list[Any], targets: list[Any]) -> pd.DataFrame:
        return pd.DataFrame({"from": pd.Categorical(sources), "to": pd.Categorical(targets)})

    assert plain(frame(["a", "b"], ["c", "a"])) == ([1, 2], [2, 1])
    assert plain(frame([1, 2], [3, 1])) == ([1, 2], [2, 1])
    with refused(ColumnError, "'from' and 'to'", "cast both"):
        plain(frame([NUMBER, 1], [SENTINEL, "1"]))
    small, large = pl.Enum(["a", "b"]), pl.Enum(["b", "a", SENTINEL])
    for kinds in ((small, small), (small, large)):
        columns = {"from": pl.Series(["a"], dtype=kinds[0]), "to": pl.Series(["b"], dtype=kinds[1])}
        for enums in (pl.DataFrame(columns), pl.LazyFrame(columns)):
            assert plain(enums) == ([1], [2])


@pytest.mark.verify
def test_text_is_text_however_it_is_laid_out() -> None:
    kinds = [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    for first, second in itertools.product(kinds, repeat=2):
        columns = {"from": text([SENTINEL]).cast(first), "to": text([SENTINEL]).cast(second)}
        assert plain(pa.table(columns)) == ([2], [1])


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"from": [], "to": []}),
        pa.table({"from": [], "to": []}),
        pd.DataFrame(columns=["from", "to"]),
    ],
    ids=lambda frame: type(frame).__module__,
)
@both_kinds
def test_without_rows_no_type_is_wrong(frame: object, directed: bool) -> None:
    assert plain(frame, directed=directed) == ([], [])


def test_types_of_duckdb() -> None:
    def relation(source: str, target: str) -> duckdb.DuckDBPyRelation:
        return duckdb.connect().sql(f'SELECT {source} AS "from", {target} AS "to"')

    uuids = [f"'00000000-0000-0000-0000-00000000000{i}'::UUID" for i in range(2)]
    assert plain(relation(*uuids)) == ([1], [2])
    enums = ["'a'::ENUM('a', 'b')", "'a'::ENUM('c', 'a')"]
    assert plain(relation(*enums)) == ([2], [1])
    for pair in (("1::INTEGER", "1::BIGINT"), (uuids[0], "1"), ("'1'", "'1'::BLOB")):
        with refused(ColumnError, "'from' and 'to'", "cast both to text"):
            plain(relation(*pair))
    for unfit in ("'101'::BIT", "1::HUGEINT", "TIME '12:00:00'", "INTERVAL '1' DAY"):
        with refused(ColumnError, "'to'", "cast it to text"):
            plain(relation("1", unfit))
