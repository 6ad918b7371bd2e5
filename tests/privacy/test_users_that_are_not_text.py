"""Text in Arrow may be any bytes. DuckDB orders by keys in which the byte 0xFF, which no UTF-8
holds, moves what follows: one user could change which rows of others count, and what they are."""

import duckdb
import pyarrow as pa
import pytest

import dphist as dh

BAD = [b"\xff\xfe", b"ab\xff", b"\xc3(", b"a\xff\x01\x7f" + b"\xff" * 6 + b"\0\0\x7f\xff\xff\xff"]
KINDS = [pa.string(), pa.large_string()]


def text(values, kind):
    """Arrow text of any bytes: it is not looked at."""
    held = pa.binary() if kind == pa.string() else pa.large_binary()
    return pa.array(values, held).view(kind)


@pytest.fixture(params=["arrow", "dictionary", "duckdb"])
def frame_of(request):
    def made(users, kind, others):
        column = text(users, kind)
        if request.param == "dictionary":
            indices = pa.array(range(len(users)), pa.int32())
            column = pa.DictionaryArray.from_arrays(indices, column)
        table = pa.table({"who": column, **others})
        return duckdb.from_arrow(table) if request.param == "duckdb" else table

    return made


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("user", BAD)
def test_users_are_refused_in_bins(frame_of, user, kind):
    frame = frame_of([user] * 3 + [b"a"] * 3, kind, {"x": [5] * 6})
    with pytest.raises(dh.DataError, match="who"):
        dh.bin_counts(frame, column="x", edges=[0, 4, 10], user="who", max_records=2)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("user", BAD)
def test_users_are_refused_of_labels_and_profiles(frame_of, user, kind):
    frame = frame_of([user] * 3 + [b"a"] * 3, kind, {"x": list("pqrpqr")})
    with pytest.raises(dh.DataError, match="who"):
        dh.LabelCounts.from_table(frame, label="x", user="who", max_labels=2)
    with pytest.raises(dh.DataError, match="who"):
        dh.Profile.from_table(frame, label="x", user="who", max_records=2)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("label", BAD)
@pytest.mark.quick(every=2)
def test_labels_are_refused_where_users_are_bounded(frame_of, label, kind):
    frame = frame_of([label] * 3 + [b"a"] * 3, kind, {"user": [1, 2, 3, 1, 2, 3]})
    with pytest.raises(dh.DataError, match="who"):
        dh.LabelCounts.from_table(frame, label="who", user="user", max_labels=1)
    with pytest.raises(dh.DataError, match="who"):
        dh.Profile.from_table(frame, label="who", user="user", max_records=1)


def test_the_same_bytes_serve_as_bytes(frame_of):
    users = pa.array([BAD[0]] * 3 + [b"a"] * 3, pa.binary())
    found = dh.bin_counts(
        pa.table({"who": users, "x": [5] * 6}), column="x", edges=[0, 10], user="who", max_records=2
    )
    assert found.counts.tolist() == [4]


def test_a_large_bound_is_stated_whole():
    table = pa.table({"who": [1], "x": [0]})
    found = dh.bin_counts(table, column="x", edges=[0, 2], user="who", max_records=12345)
    assert found.sensitivity == 12345


@pytest.mark.parametrize("wrap", [
    lambda c: iter([c]), lambda c: iter([c, c]), lambda c: [c], lambda c: (c, c),
    lambda c: iter([[c, c]]),
], ids=["chunk", "chunks", "list", "tuple", "nested"])  # fmt: skip
@pytest.mark.parametrize("kind", [dh.LeafCounts, dh.HierarchicalTree, dh.AdaptiveTree])
@pytest.mark.parametrize("bins", [2, 4, (1, 2), (2, 2)])
@pytest.mark.quick(every=4)
def test_counts_that_carry_a_bound_are_not_taken_for_numbers(kind, wrap, bins):
    table = pa.table({"who": [1] * 6, "x": [0] * 6})
    counts = dh.bin_counts(table, column="x", edges=[0, 2, 4], user="who", max_records=3)
    with pytest.raises(dh.UnsupportedError, match="BinnedCounts"):
        kind(epsilon=1, bins=bins).release(wrap(counts))
