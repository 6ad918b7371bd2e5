"""Text files are held to the documented rule, and each of their records is counted.

What DuckDB returns, and what is refused at which line, is compared with a plain reader.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

import dphist as dh
from dphist import counting
from dphist.cli import main
from dphist.counting.reading import records, text_files
from dphist.counting.reading.columns import Wanted, key_column
from dphist.counting.reading.gate import open_source
from dphist.errors import InputFileError
from tests.support.counting.backends import gzipped, written, zstd
from tests.support.counting.plain_text import MARK, Record, WrongRecord, read_plainly
from tests.support.refusal import SENTINEL, refused


def check(text: bytes, fields: int, ending: str, size: int) -> records.Records:
    """Look at a text in blocks of a size."""
    found = records._Check(fields, ending, ",", "FILE")
    for start in range(0, len(text), size):
        found.add(text[start : start + size])
    return found.end()


def plain(text: bytes, longest: int = records.LONGEST) -> list[Record] | str:
    """What a plain reader finds, or how the error about the first wrong record begins."""
    try:
        return read_plainly(text, b",", longest)
    except WrongRecord as wrong:
        return f"line {wrong.line} of FILE {wrong.fault}"


@pytest.mark.long(every=4)
@pytest.mark.quick("[3-3]", "[7-1000]")
@pytest.mark.parametrize("longest", [3, 1000])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_records_are_checked_as_one_by_one(
    size: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All texts of up to five bytes out of five after three headers, whatever the blocks."""
    monkeypatch.setattr(records, "LONGEST", longest)
    for fields, ending in ((1, "\n"), (2, "\r\n"), (2, "\r")):
        header = (b"x" if fields == 1 else b"x,y") + ending.encode()
        for length in range(6 if size == 64 else 5):
            for letters in itertools.product(b'",\r\na', repeat=length):
                text = header + bytes(letters)
                if ending == "\r" and text.startswith(b"x,y\r\n"):
                    continue  # another header
                expected = plain(text, longest)
                if isinstance(expected, str):
                    with pytest.raises(InputFileError) as caught:
                        check(text, fields, ending, size)
                    assert str(caught.value).startswith(expected)
                else:
                    found = check(text, fields, ending, size)
                    assert found.number == len(expected)
                    assert found.one_thread == (b'"' in text or "" in text.decode().splitlines())


def fields_found(path: Path, number: int, how: str) -> list[Record]:
    """All fields of a file, through the gate."""
    wanted: list[Wanted] = [key_column(f"c{place}", f"h{place}", "x") for place in range(number)]
    with ExitStack() as stack:
        source = open_source(stack, path, wanted)
        if how == "rows":
            rows = source.rows()
            table = source.run(lambda: rows.to_arrow([column.role for column in wanted]))
        else:
            table = source.run(lambda: pa.Table.from_batches(source.batches()))
    columns = [list(map(as_bytes, column.to_pylist())) for column in table.columns]
    return list(zip(*columns, strict=True))


def as_bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


LETTERS = {
    "plain": b",\na",
    "quotes": b'",\na',
    "endings": b"\r\n,a",
    "all": b"\",\r\na\0 #\\'\xff\x1a;\t",
}


COMPRESSED: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("t.csv", bytes),
    ("t.csv.gz", gzipped),
    ("t.csv.zst", zstd),
]


def random_files(seed: int, number: int) -> Iterator[tuple[bytes, int]]:
    """Small files and how many fields their headers have."""
    draw = random.Random(seed)
    for _ in range(number):
        fields = draw.choice([1, 2, 3])
        end = draw.choice([b"\n", b"\n", b"\r\n", b"\r"])
        header = b",".join(b"h%d" % place for place in range(fields))
        letters = [bytes([byte]) for byte in LETTERS[draw.choice(list(LETTERS))]]
        words = [*letters, end, end, b'"a,b"', b'"\n"', b'""', b"," * (fields - 1) + end]
        body = b"".join(draw.choice(words) for _ in range(draw.randint(0, 9)))
        mark = MARK if draw.random() < 0.2 else b""
        yield mark + header + end + body, fields


@pytest.mark.long(every=4)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.verify
def test_files_have_the_records_of_a_plain_reader(seed: int, tmp_path: Path) -> None:
    """Both ways out of the gate, all compressions; and what is refused is refused by the rule."""
    read = 0
    for number, (text, fields) in enumerate(random_files(seed, 150)):
        expected = plain(text)
        how = ("rows", "batches")[number % 2]
        name, pack = COMPRESSED[number % 3]
        path = written(tmp_path, name, pack(text))
        if isinstance(expected, str):
            with refused(InputFileError, expected.replace("FILE", f"'{path}'")):
                fields_found(path, fields, how)
        elif b"\xff" in text:
            with refused(InputFileError, f"'{path}'", "UTF-8"):
                fields_found(path, fields, how)
        else:
            assert sorted(fields_found(path, fields, how), key=repr) == sorted(expected, key=repr)
            read += len(expected)
    assert read > 10


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (b"%b", "must have as many fields"),
        (b"%b,1,", "must have as many fields"),  # DuckDB takes one empty field too many
        (b"%b,1,2", "must have as many fields"),
        (b",,,%b", "must have as many fields"),
        (b"%b\r,1", "has another line ending"),
        (b"%b,1\r", "has another line ending"),
        (b'%b",1', "has a quote inside a field"),
        (b'"%b" ,1', "has a quote inside a field"),
        (b' "%b",1', "has a quote inside a field"),
        (b'"%b,1', "begins a record of several lines that is not valid"),
    ],
)
@pytest.mark.parametrize("rows", [0, 5, 300_000])
def test_a_wrong_record_is_named_by_its_line(
    record: bytes, fault: str, rows: int, tmp_path: Path
) -> None:
    """Wherever it stands, and after fields of several lines and empty lines."""
    before = b'label,n\n"a\nb",1\n\n' + b"a,1\n" * rows
    content = before + record % SENTINEL.encode() + b"\nb,2\n"
    line = 5 + rows
    for name, pack in (("t.csv", bytes), ("t.csv.gz", gzipped)):
        path = written(tmp_path, name, pack(content))
        with refused(InputFileError, f"line {line:,} of '{path}' {fault}"):
            counting.count_records(path, label="label")


@pytest.mark.parametrize("after", ["", 'b,"z\n', 'b,2",1\n', "long"])
def test_an_error_does_not_say_how_later_lines_continue_a_record(after: str) -> None:
    """Whether they hold a quote, how many fields they have, and how long the file is."""
    later = "b,2\n" * 600_000 if after == "long" else "b,2\n" + after
    with pytest.raises(InputFileError, match=r"^line 2 of FILE begins a record of several lines"):
        check(b'a,b\nx,"y\n' + later.encode(), 2, "\n", 2**20)


# DuckDB's threads start every 8 MB. With DuckDB's own limit, a record of more than 2,000,000 bytes
# that begins a little after such a boundary, near the end of a file, removed all that followed it.
BOUNDARY = 8_000_000
LONGEST = 2_000_000


def with_long_record(length: int, start: int = BOUNDARY + 100, rows: int = 100_000) -> bytes:
    """Rows of 15 up to `start`, a record of 25 with this many bytes, and rows of 35."""
    head, row = b"v,label\n", b"15," + b"a" * 996 + b"\n"
    number, rest = divmod(start - len(head), len(row))
    first = b"15," + b"a" * (996 + rest) + b"\n"
    long = b"25," + b"b" * (length - 3) + b"\n"
    return head + first + row * (number - 1) + long + b"35,c\n" * rows


READERS: dict[str, Callable[[Path], object]] = {
    "bins": lambda path: dh.bin_counts(path, column="v", start=10, stop=40, width=10).counts,
    "bins of users": lambda path: (
        dh.bin_counts(
            path, column="v", start=10, stop=40, width=10, user="label", max_records=1
        ).counts
    ),
    "labels": lambda path: dh.LabelCounts.from_table(path, label="v"),
    "labels of users": lambda path: dh.LabelCounts.from_table(
        path, label="v", user="label", max_labels=1
    ),
    "part": lambda path: dh.LabelCounts.partial(path, label="v", part=0, parts=2, user="label"),
    "profile": lambda path: dh.Profile.from_table(path, label="v"),
    "edges": lambda path: dh.Profile.from_edges(path, source="v", target="label"),
}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
@pytest.mark.quick(every=3)
def test_no_record_is_longer_than_two_million_bytes(name: str, tmp_path: Path) -> None:
    """The reproduction: every record is counted, or the long one is refused, by one rule."""
    pack = {"gz": gzipped, "zst": zstd}.get(name.rsplit(".")[-1], bytes)
    path = written(tmp_path, name, pack(with_long_record(LONGEST)))
    bins = dh.bin_counts(path, column="v", start=10, stop=40, width=10).counts
    assert bins.tolist() == [8000, 1, 100_000]
    path.write_bytes(pack(with_long_record(LONGEST + 1)))
    for read in READERS.values():
        with refused(InputFileError, f"line 8,002 of '{path}' has more than 2,000"):
            read(path)


@pytest.mark.long(every=4)
@pytest.mark.quick("[8000100-2]")
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("start", [1_008, 8_000_000, 8_000_100, 15_999_990, 32_000_100])
def test_where_a_long_record_stands_does_not_matter(
    start: int, threads: int, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    for length in (LONGEST, LONGEST + 1, LONGEST + 100, 5_000_000):
        content = with_long_record(length, start)
        path.write_bytes(content)
        with dh.Resources(threads=threads):
            if length == LONGEST:
                counts, labels = counting.count_records(path, label="v")
                assert int((counts * labels).sum()) == content.count(b"\n") - 1
            else:
                line = content[:start].count(b"\n") + 1
                with refused(InputFileError, f"line {line:,} of '{path}' has more than"):
                    counting.count_records(path, label="v")


@pytest.mark.verify
def test_the_reproduction_at_its_size(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """32,000,100 bytes, a line of 2,000,100 bytes, 100,000 rows; also by the command."""
    path = written(tmp_path, "t.csv", with_long_record(2_000_100, 32_000_100))
    for read in READERS.values():
        with refused(InputFileError, f"line 32,002 of '{path}'"):
            read(path)
    out = tmp_path / "r.json"
    options = [
        "--each-row-is-one-person",
        "--column",
        "v",
        "--start",
        "10",
        "--stop",
        "40",
        "--width",
        "10",
        "--epsilon",
        "1",
    ]
    assert main(["ranges", str(path), *options, "--output", str(out)]) == 1
    assert "line 32,002 of" in capfd.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("how", ["rows", "batches"])
def test_a_file_that_is_not_read_completely_is_refused(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB loses records where our rule of their length does not keep it from doing so."""
    monkeypatch.setattr(records, "LONGEST", 10**9)
    monkeypatch.setattr(text_files, "_MAX_LINE_SIZE", LONGEST)
    path = written(tmp_path, "t.csv", with_long_record(LONGEST + 100))
    read = READERS["labels"] if how == "rows" else READERS["bins"]
    with refused(InputFileError, f"'{path}' could not be read completely"):
        read(path)
