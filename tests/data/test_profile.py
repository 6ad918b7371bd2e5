"""Profile: constructors, geometry of the diagram, and silence about its content."""

import copy
import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import data
from dphist import Profile, RankSplit
from dphist.errors import BoundsError, DataError, DphistError, ParameterError
from tests.support.privacy.diagrams import partitions, with_one_more
from tests.support.refusal import NUMBER

counts_lists = st.lists(st.integers(0, 40), max_size=30)


def rows(counts: list[int]) -> list[int]:
    return sorted((c for c in counts if c > 0), reverse=True)


def columns(counts: list[int], r: int) -> int:
    return sum(c >= r for c in counts)


@given(counts_lists)
def test_from_counts_keeps_the_multiset(counts: list[int]) -> None:
    profile = Profile.from_counts(counts)
    assert profile.sorted_counts().tolist() == rows(counts)
    assert profile.total == sum(counts)
    assert profile.labels == len(rows(counts))
    assert profile.counts.dtype == profile.prevalences.dtype == np.int64
    assert np.all(np.diff(profile.counts) > 0)


@given(counts_lists)
def test_from_prevalences_adds_up_and_drops_zeros(counts: list[int]) -> None:
    some = rows(counts)
    profile = Profile.from_prevalences([*some, 7], [*([1] * len(some)), 0])
    assert profile == Profile.from_counts(counts)


@given(counts_lists)
def test_columns_and_cells(counts: list[int]) -> None:
    profile = Profile.from_counts(counts)
    r = np.arange(1, 45)
    assert profile.cumulative_prevalences(r).tolist() == [columns(counts, int(x)) for x in r]
    cells = [sum(min(c, int(x)) for c in counts) for x in np.arange(45)]
    assert profile.cells_up_to(np.arange(45)).tolist() == cells
    boundaries = [0, 1, 5, 6, 44]
    sums = [cells[b] - cells[a] for a, b in itertools.pairwise(boundaries)]
    assert profile.block_sums(boundaries).tolist() == sums


@given(counts_lists)
def test_conjugate_swaps_rows_and_columns(counts: list[int]) -> None:
    profile = Profile.from_counts(counts, sensitivity=2)
    conjugate = profile.conjugate()
    heights = [columns(counts, r) for r in range(1, max(counts, default=0) + 1)]
    assert conjugate.sorted_counts().tolist() == heights
    assert conjugate.conjugate() == profile
    assert conjugate.sensitivity == 2


@given(counts_lists, counts_lists)
def test_distance_is_sorted_l1(a: list[int], b: list[int]) -> None:
    one, other = rows(a), rows(b)
    width = max(len(one), len(other))
    expected = sum(
        abs(x - y)
        for x, y in zip(
            one + [0] * (width - len(one)), other + [0] * (width - len(other)), strict=True
        )
    )
    first, second = Profile.from_counts(a), Profile.from_counts(b)
    assert first.distance(second) == second.distance(first) == expected
    assert first.conjugate().distance(second.conjugate()) == expected


def test_a_neighbour_is_at_distance_one() -> None:
    for n in range(7):
        for partition in partitions(n):
            for other in with_one_more(partition):
                pair = Profile.from_counts(list(partition)), Profile.from_counts(list(other))
                assert pair[0].distance(pair[1]) == 1


def test_large_totals_are_exact() -> None:
    most = 2**62 - 1
    large = Profile.from_counts([most])
    assert large.total == most
    assert large.distance(Profile.from_prevalences([1], [most])) == 2 * (most - 1)
    assert large.cells_up_to([most, 2**62 - 5]).tolist() == [most, 2**62 - 5]
    assert large.conjugate().labels == most


def test_work_depends_on_distinct_counts_only() -> None:
    """69 million records with two distinct counts: nothing is expanded."""
    profile = Profile.from_prevalences([1, 10**15], [10**15, 3])
    assert profile.conjugate().conjugate() == profile
    assert profile.distance(Profile.from_counts([])) == profile.total


def test_empty_profile() -> None:
    empty = Profile.from_counts([])
    assert (empty.total, empty.labels) == (0, 0)
    assert empty == Profile.from_prevalences([], [])
    assert empty.conjugate() == empty
    assert empty.distance(empty) == 0
    assert empty.cumulative_prevalences([1, 2]).tolist() == [0, 0]
    assert empty.cells_up_to([0, 9]).tolist() == [0, 0]


def test_a_profile_cannot_be_changed() -> None:
    profile = Profile.from_counts([3, 1])
    with pytest.raises(ValueError, match="read-only"):
        profile.counts[0] = 7
    with pytest.raises(AttributeError):
        profile.sensitivity = 5  # type: ignore[misc]
    given_counts, given_prevalences = np.array([1, 3]), np.array([1, 1])
    profile = Profile.from_prevalences(given_counts, given_prevalences)
    given_counts[0] = 2
    assert profile.counts.tolist() == [1, 3]


def test_repr_shows_no_data() -> None:
    profile = Profile.from_counts([NUMBER, NUMBER])
    assert str(NUMBER) not in repr(profile) + str(profile)
    assert "2" not in repr(profile)


@pytest.mark.parametrize(
    "bad",
    [
        [3, -1],
        [1.5],
        [2.0],
        [float("nan")],
        [float("inf")],
        [None],
        [True],
        ["7"],
        [2**62],
        [2**63],
        [2**70],
        np.array([2**63], np.uint64),
        [[1, 2]],
        5,
        "77",
        None,
    ],
)
def test_bad_counts_are_refused(bad: object) -> None:
    with pytest.raises(DphistError, match="counts"):
        Profile.from_counts(bad)
    with pytest.raises(DphistError, match="counts"):
        Profile.from_prevalences(bad, [1])
    with pytest.raises(DphistError, match="prevalences"):
        Profile.from_prevalences([1], bad)


def test_overflow_is_refused_before_it_wraps() -> None:
    for counts, prevalences in [
        ([2**61], [2]),
        ([2**31], [2**31]),
        ([1, 1, 1], [2**62 - 1] * 3),
    ]:
        with pytest.raises(DataError, match=r"2\*\*62"):
            Profile.from_prevalences(counts, prevalences)


def test_other_bad_pairs_are_refused() -> None:
    with pytest.raises(ParameterError, match="same length"):
        Profile.from_prevalences([1, 2], [1])
    with pytest.raises(DataError, match="positive"):
        Profile.from_prevalences([0, 2], [1, 1])
    with pytest.raises(ParameterError, match="sensitivity"):
        Profile.from_counts([1], sensitivity=0)


def test_errors_do_not_show_counts() -> None:
    for bad in ([-NUMBER], [NUMBER + 0.5], [NUMBER * 10**12]):
        with pytest.raises(DphistError) as caught:
            Profile.from_counts(bad)
        assert str(NUMBER) not in repr(caught.value)
        assert caught.value.__context__ is None


def test_copies_cannot_be_changed_either() -> None:
    profile = Profile.from_counts([3, 1], sensitivity=2)
    for twin in (copy.deepcopy(profile), pickle.loads(pickle.dumps(profile))):  # noqa: S301
        assert twin == profile
        with pytest.raises(ValueError, match="read-only"):
            twin.counts[0] = 7


def test_distance_to_something_else_is_refused() -> None:
    with pytest.raises(ParameterError, match="other"):
        Profile.from_counts([1]).distance(3)  # type: ignore[arg-type]


Edges = tuple[tuple[int, int], ...]


def graph(edges: Edges, directed: bool = False) -> Profile:
    columns = [pa.array([edge[end] for edge in edges], pa.int64()) for end in (0, 1)]
    frame = pa.table({"u": columns[0], "v": columns[1]})
    return Profile.from_edges(frame, source="u", target="v", directed=directed)


@pytest.mark.quick("[1-undirected]")
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("most", [1, 2])
def test_an_edge_changes_as_many_cells_as_the_profile_says(most: int, directed: bool) -> None:
    """All tables of up to `most` edges over three nodes, loops and repeated edges included."""
    possible = list(itertools.product(range(3), repeat=2))
    profiles = {
        edges: graph(edges, directed)  # type: ignore[arg-type]
        for size in range(most + 2)
        for edges in itertools.combinations_with_replacement(possible, size)
    }
    for edges, profile in profiles.items():
        assert profile.sensitivity == (1 if directed else 2)
        for edge in possible if len(edges) <= most else []:
            other = profiles[tuple(sorted((*edges, edge)))]
            # Exactly as many, for the totals differ by as much: no smaller bound would do.
            assert profile.distance(other) == profile.sensitivity


nodes = st.integers(0, 6)
graphs = st.lists(st.tuples(nodes, nodes), max_size=30).map(tuple)


@pytest.mark.verify
@given(graphs, st.tuples(nodes, nodes))
def test_an_edge_changes_no_more_cells_of_a_larger_graph(
    edges: Edges, edge: tuple[int, int]
) -> None:
    for directed, most in ((False, 2), (True, 1)):
        profile = graph(edges, directed)
        assert profile.distance(graph((*edges, edge), directed)) == most
        assert profile.total == most * len(edges)


@pytest.mark.verify
@given(graphs, st.tuples(nodes, nodes))
def test_an_edge_listed_in_both_directions_changes_four_cells(
    edges: Edges, edge: tuple[int, int]
) -> None:
    """As the docstring warns: these tests would see an edge of more cells than stated."""
    assert graph(edges).distance(graph((*edges, edge, edge[::-1]))) == 4


def test_a_mechanism_for_one_record_refuses_undirected_edges() -> None:
    with pytest.raises(BoundsError):
        RankSplit(epsilon=1).release(graph(((1, 2),)))
    RankSplit(epsilon=1).release(graph(((1, 2),), directed=True))
    RankSplit(epsilon=1, sensitivity=2).release(graph(((1, 2),)))


@pytest.mark.parametrize("name", ["facebook_combined", "ca-GrQc"])
def test_degrees_of_real_graphs(name: str) -> None:
    """Against degrees that were counted elsewhere."""
    edges, known = data.folder("edges"), data.folder("profiles")
    path = edges / f"{name}_edges.csv.gz" if edges else None
    degrees = known / f"degrees_{name}.csv" if known else None
    if path is None or degrees is None or not (path.exists() and degrees.exists()):
        pytest.skip(f"needs edges/ and profiles/ of {name} in the folder DPHIST_DATA")
    found = Profile.from_edges(path, source="u", target="v")
    read = Profile.read(degrees, sensitivity=2)
    assert found == Profile(read.counts, read.prevalences, 2, "one edge")
