"""Files of data to compare on: each row is read, or the file is refused in our words."""

import gzip
from pathlib import Path

import pytest

from dphist.errors import ColumnError, InputFileError
from dphist.ranges.comparing.case import read_bins
from dphist.streams.comparing import read_events


def test_an_empty_line_is_an_event_of_one_column_and_nothing_in_others(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbflabel\r\na\r\n\r\n"b\nc"\r\n""\r\n')
    assert read_events(path, "label") == [["a"], [], ["b\nc"], []]
    path.write_bytes(b"label,n\na,1\n\n,2\n")
    assert read_events(path, "label") == [["a"], []]
    with pytest.raises(ColumnError, match="'other'"):
        read_events(path, "other")


@pytest.mark.verify
def test_a_long_value_of_several_lines_is_one_event(tmp_path: Path) -> None:
    """Arrow reads 1 MB at once, and takes each line for a row unless it is told otherwise."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"label\n" + b"a\n" * 524_200 + b'"' + b"b\n" * 200 + b'"\n')
    events = read_events(path, "label")
    assert len(events) == 524_201
    assert events[-1] == ["b\n" * 200]


@pytest.mark.parametrize("cut", [0, 5, 15, 25])
def test_a_damaged_file_is_refused(cut: int, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"count\n1\n2\n", mtime=0))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed)
    assert read_bins(path).tolist() == [1, 2]
    packed[cut] ^= 0xFF
    path.write_bytes(packed)
    if cut == 5:  # a time, which means nothing
        assert read_bins(path).tolist() == [1, 2]
    else:
        with pytest.raises(InputFileError, match="cannot be read as CSV"):
            read_bins(path)
