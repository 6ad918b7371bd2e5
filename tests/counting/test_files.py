"""Files: what is read, and what is refused without showing a line of it."""

import os
import stat
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from dphist import counting
from dphist.counting.engine import private_duckdb
from dphist.counting.reading import file_opener
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from dphist.visible import visible
from tests.support.counting.backends import gzipped, written, zstd
from tests.support.refusal import NUMBER, SENTINEL, refused


def profile(path: object) -> tuple[list[int], list[int]]:
    counts, prevalences = counting.read_profile(path)
    return counts.tolist(), prevalences.tolist()


def records(path: object) -> tuple[list[int], list[int]]:
    counts, prevalences = counting.count_records(path, label="label")
    return counts.tolist(), prevalences.tolist()


PROFILE = b"count,prevalence\n3,1\n8,2\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", PROFILE),
        ("p.CSV", PROFILE),
        ("p.txt", PROFILE),
        ("p.v2.csv", PROFILE),
        ("p.tsv", PROFILE.replace(b",", b"\t")),
        ("p.csv.gz", gzipped(PROFILE)),
        ("p.tsv.gz", gzipped(PROFILE.replace(b",", b"\t"))),
        ("p.csv.zst", zstd(PROFILE)),
        ("p.txt.zst", zstd(PROFILE)),
        ("two-members.csv.gz", gzipped(PROFILE[:21]) + gzipped(PROFILE[21:])),
        ("two-frames.csv.zst", zstd(PROFILE[:21]) + zstd(PROFILE[21:])),
        ("bom.csv", b"\xef\xbb\xbf" + PROFILE),
        ("bom.csv.gz", gzipped(b"\xef\xbb\xbf" + PROFILE)),
        ("bom-quoted.csv", b'\xef\xbb\xbf"count",prevalence\n3,1\n8,2\n'),
        ("crlf.csv", PROFILE.replace(b"\n", b"\r\n")),
        ("cr.csv", PROFILE.replace(b"\n", b"\r")),
        ("no-last-line-end.csv", PROFILE[:-1]),
        ("blank-lines.csv", PROFILE.replace(b"8", b"\n8") + b"\n"),
        ("quoted.csv", b'"count","prevalence"\n"3","1"\n"8","2"\n'),
        ("other-columns.csv", b'note,count,x,prevalence\n"a\n,b",3,,1\n,8,"""",2\n'),
        ("long-header-name.csv", b"%b,count,prevalence\n1,3,1\n1,8,2\n" % (b"x" * 9000)),
        ("spaces.csv", b"count,prevalence\n 3, 1 \n8  ,+2\n"),
        ("zeros.csv", b"count,prevalence\n0003,1\n00000000000000000000000008,2\n"),
        ("merged.csv", b"count,prevalence\n8,1\n3,1\n8,1\n5,0\n0,0\n"),
    ],
)
@pytest.mark.quick(every=8)
def test_profiles_are_read(name: str, content: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, name, content)
    assert profile(path) == ([3, 8], [1, 2])
    assert profile(str(path)) == ([3, 8], [1, 2])


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("exact.csv", b"label\n007\n7\n 7\n7 \n7.0\nNULL\nnull\nNA\nnan\n", ([1], [9])),
        ("case.csv", b"label\na\nA\n", ([1], [2])),
        ("quotes.csv", b'label,x\n"a,b",1\n"a\nb",2\n"a""b",3\n"a,b",4\n', ([1, 2], [2, 1])),
        ("empty-text.csv", b'label,x\n"",1\n"",2\na,3\n', ([1, 2], [1, 1])),
        ("comment.csv", b"label,x\n#a,1\n#b,1\n", ([1], [2])),
        ("unicode.txt", "label\né\né\ne\u0301\n".encode(), ([1, 2], [1, 1])),
        ("case-of-columns.csv", b"Label,label,LABEL\na,x,a\na,y,b\n", ([1], [2])),
        ("header-only.csv", b"label\n", ([], [])),
        ("header-no-line-end.csv", b"label", ([], [])),
        ("header-line-end.csv", b'"la\nbel",label\na,b\n', ([1], [1])),
        ("nul.csv", b"label\na\0b\na\0c\n", ([1], [2])),
    ],
)
def test_labels_are_compared_exactly(
    name: str, content: bytes, expected: tuple[list[int], list[int]], tmp_path: Path
) -> None:
    assert records(written(tmp_path, name, content)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "[ab].csv",
        "*.csv",
        "a?.csv",
        "it's.csv",
        "a b.csv",
        "{a,b}.csv",
        "ü.csv",
        "~.csv",
        "s3:.csv",
        "-.csv",
        "'.csv",
        "%41.csv",
        '".csv',
    ],
)
@pytest.mark.parametrize("folder", ["plain", "[x]*/year=2020"])
@pytest.mark.quick(every=5)
def test_a_file_name_is_no_pattern(name: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(parents=True)
    path = written(tmp_path / folder, name, b"label\na\n")
    for other in ("a.csv", "b.csv", "ab.csv", "z.csv"):
        if other != name:
            written(tmp_path / folder, other, f"label\n{SENTINEL}\n{SENTINEL}\n".encode())
    assert records(path) == ([1], [1])
    for file in path.parent.iterdir():
        file.unlink()
    with refused(InputFileError, f"{visible(name)}'"):  # it is a pattern now, if anything
        records(path)


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "r.csv", b"label\na\n")
    monkeypatch.chdir(tmp_path)
    assert records("r.csv") == ([1], [1])
    assert records("./r.csv") == ([1], [1])


def test_a_folder_name_is_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "label=x"
    folder.mkdir()
    pyarrow.parquet.write_table(pa.table({"other": ["a"]}), folder / "t.parquet")
    with refused(ColumnError, "'label'", "'other'"):
        records(folder / "t.parquet")


def test_parquet_columns_that_differ_in_case(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"Label": ["a", "a"], "label": ["a", "b"], "LABEL": ["c", "c"]})
    pyarrow.parquet.write_table(table, path)
    assert records(path) == ([1], [2])


SENT = SENTINEL.encode()


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("short.csv", b"label,x\n%b\n" % SENT, "line 2 of {} must have as many fields"),
        ("long.csv", b"label,x\n%b,1,2\n" % SENT, "line 2 of {} must have as many fields"),
        ("mixed-ends.csv", b"label,x\r\n%b,1\na,2\r\n" % SENT, "line 2 of {} has another line"),
        ("not-utf8.csv", b"label,x\n%b,1\na\xff,1\n" % SENT, "line 3 of {} is not text in UTF-8"),
        ("not-utf8-header.csv", b"label,\xff\n%b,1\n" % SENT, "line 1 of {}, which"),
        ("utf16.csv", f"label,x\n{SENTINEL},1\n".encode("utf-16"), "line 1 of {}, which"),
        ("open-quote.csv", b'label,x\n"%b,1\nb,2\n' % SENT, "line 2 of {} begins a record"),
        ("after-quote.csv", b'label,x\n"%b"b,1\n' % SENT, "line 2 of {} has a quote"),
        ("open-header.csv", b'"label,x\n%b,1\n' % SENT, "line 1 of {}, which"),
        ("no-gzip.csv.gz", b"label,x\n%b,1\n" % SENT, "{} cannot be decompressed by gzip"),
        ("cut.csv.gz", gzipped(b"label,x\n" + b"%b,1\n" % SENT * 100)[:-20], "{} cannot be decomp"),
        (
            "cut-sum.csv.gz",
            gzipped(b"label,x\n" + b"%b,1\n" % SENT * 100)[:-8],
            "{} cannot be decomp",
        ),
        ("no-zstd.csv.zst", b"label,x\n%b,1\n" % SENT, "{} cannot be decompressed by zstd"),
        ("cut.csv.zst", zstd(b"label,x\n" + b"%b,1\n" % SENT * 100)[:-9], "{} cannot be decomp"),
        ("no-parquet.parquet", b"label,x\n%b,1\n" % SENT, "{} must be a Parquet file"),
        ("zero.parquet", b"", "{} must be a Parquet file"),
        ("zero.csv", b"", "{} is empty"),
        ("zero.csv.gz", gzipped(b""), "{} is empty"),
        ("bare-zero.csv.gz", b"", "{}"),
        ("blank-header.csv", b"\nlabel,x\n%b,1\n" % SENT, "{} begins with an empty line"),
        ("endless-header.csv", b"label," + SENT * 100_000, "line 1 of {}, which"),
        ("csv", b"label\n%b\n" % SENT, "{} must end in .csv"),
        ("a.xlsb", b"label\n%b\n" % SENT, "{} is a spreadsheet of another kind"),
        ("a.xlsx.gz", b"label\n%b\n" % SENT, "{} must end in .csv"),
        ("a.xlsx", b"label\n%b\n" % SENT, "{} must be a spreadsheet"),
        ("a.jsonl", b"label\n%b\n" % SENT, "line 1 of {} must be a JSON object"),
        ("a.sqlite", b"label\n%b\n" % SENT, "{} must be an SQLite file"),
        ("a.zip", b"label\n%b\n" % SENT, "{} must be a zip archive"),
        ("a.parquet.gz", b"label\n%b\n" % SENT, "{} must end in .csv"),
        ("a.gz", b"label\n%b\n" % SENT, "{} must end in .csv"),
        (".csv", b"label\n%b\n" % SENT, "{} must end in .csv"),
    ],
)
def test_what_is_no_table_is_refused(name: str, content: bytes, fault: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, content)
    with refused(InputFileError, fault.format(f"'{path}'")):
        records(path)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"label": [SENTINEL] * 5000}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    with refused(InputFileError, f"{path}'"):
        records(path)


def test_a_parquet_file_with_text_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    broken = pa.array([SENTINEL.encode() + b"\xff"]).view(pa.string())
    pyarrow.parquet.write_table(pa.table({"label": broken}), path)
    with refused(InputFileError, f"{path}'"):
        records(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with refused(InputFileError, "folder.csv' is a folder without files"):
        records(tmp_path / "folder.csv")
    for missing in ("gone.csv", "gone/gone.parquet", "gone.tsv.zst"):
        with refused(InputFileError, f"{tmp_path / missing}' does not exist"):
            records(tmp_path / missing)
    for impossible in ("nul\0.csv", "https://example.org/x.csv", "x" * 5000 + ".csv"):
        with refused(InputFileError, f"'{visible(impossible)}'"):
            records(impossible)
    for unknown in ("", "https://example.org/x"):
        with refused(InputFileError, f"'{unknown}'", ".parquet"):
            records(unknown)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        with refused(InputFileError, "pipe.csv' must be a regular file"):
            records(tmp_path / "pipe.csv")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "closed.csv", b"label\n%b\n" % SENT)

    def forbidden(*_: object) -> None:
        raise PermissionError(SENTINEL)

    # Tests run as root, whom no permission stops.
    monkeypatch.setattr(Path, "open", forbidden)
    with refused(InputFileError, "closed.csv'", "permissions"):
        records(path)


@pytest.mark.parametrize(
    "text",
    [
        "3.0",
        "3.5",
        "-3",
        "- 3",
        "++3",
        "+",
        "1e3",
        "1_000",
        '"1,000"',
        "0x10",
        "nan",
        "inf",
        "True",
        "٣",
        "３",
        "3 4",
        '""',
        '" "',
        "\t3",
        "NULL",
        str(2**62),
        str(2**63),
        str(2**64 + 1),
        "9" * 40,
        SENTINEL,
    ],
)
@pytest.mark.quick(every=5)
def test_counts_in_text_are_decimal_digits(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"label,n\n{SENTINEL},{NUMBER}\nb,{text}\n".encode())
    with refused(DataError, "'n'", "decimal digits"):
        counting.sum_counts(path, label="label", count="n")


@pytest.mark.parametrize("text", ["3.0", "-3", SENTINEL])
@pytest.mark.parametrize("column", ["count", "prevalence"])
def test_profiles_in_text_are_decimal_digits(text: str, column: str, tmp_path: Path) -> None:
    row = {"count": str(NUMBER), "prevalence": str(NUMBER), column: text}
    path = written(
        tmp_path, "p.csv", ",".join(row).encode() + b"\n" + ",".join(row.values()).encode()
    )
    with refused(DataError, f"'{column}'", "decimal digits"):
        profile(path)


def test_the_largest_count_in_text(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b"label,n\na,%d\n" % (2**62 - 1))
    counts, _ = counting.sum_counts(path, label="label", count="n")
    assert counts.tolist() == [2**62 - 1]


@pytest.mark.parametrize("content", [b"label,n\n,1\n", b"label\na\n\nb\n", b"label,n\na,1\n,\n"])
def test_an_empty_field_is_a_missing_label(content: bytes, tmp_path: Path) -> None:
    with refused(DataError, "'label'", "drop"):
        records(written(tmp_path, "t.csv", content))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_first_line_that_may_be_a_record_is_not_shown(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, b"%b\nb\n" % SENT)
    with refused(ColumnError, "'label'", str(path), "first line"):
        records(path)


@pytest.mark.parametrize("line", [b"alice,aspirin,3", b"user_id,Password,x", b"lable,%b,y" % SENT])
def test_no_field_of_a_first_line_is_shown(line: bytes, tmp_path: Path) -> None:
    """Not even one that looks like a name: a file without a header starts with a record."""
    path = written(tmp_path, "t.csv", line + b"\n1,a,b\n")
    with pytest.raises(ColumnError) as caught:
        counting.count_records(path, label="label")
    said = str(caught.value).removeprefix(f"the first line of '{path}'")
    assert said == (
        " must name the columns, but names no 'label'; it has 3 fields, separated by commas; it "
        "does not have this column with semicolons, tabs or vertical bars either: correct the "
        "name, add a header line, or give delimiter, the character that separates the fields"
    )


@pytest.mark.parametrize(
    ("delimiter", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
@pytest.mark.quick(every=3)
def test_another_delimiter_is_named_and_can_be_given(
    delimiter: str, called: str, tmp_path: Path
) -> None:
    content = f"label{delimiter}n\na,b{delimiter}3\na,b{delimiter}1\n".encode()
    for name, packed in (("t.csv", content), ("t.csv.gz", gzipped(content))):
        path = written(tmp_path, name, packed)
        hint = f"it has this column with {called}: give delimiter={delimiter!r}"
        with refused(ColumnError, "'label'", "one field, separated by commas", hint):
            records(path)
        counts, _ = counting.count_records(path, label="label", delimiter=delimiter)
        assert counts.tolist() == [2]
        counts, _ = counting.sum_counts(path, label="label", count="n", delimiter=delimiter)
        assert counts.tolist() == [4]


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "a", "7", "é", 3])
def test_delimiters_that_are_none(delimiter: Any, tmp_path: Path) -> None:
    with refused(ParameterError, "delimiter"):
        counting.count_records(
            written(tmp_path, "t.csv", b"label\na\n"), label="label", delimiter=delimiter
        )


def test_a_delimiter_is_for_text_files(tmp_path: Path) -> None:
    large_parquet(tmp_path / "t.parquet", 1, "i")
    for frame in (tmp_path / "t.parquet", pa.table({"label": ["a"]})):
        with refused(ParameterError, "delimiter", "text files"):
            counting.count_records(frame, label="label", delimiter=";")


@pytest.mark.long(every=2)
@pytest.mark.quick("[7990000]")
@pytest.mark.parametrize("before", [0, 7_900_000, 7_990_000, 7_999_998, 8_100_000, 15_900_000])
def test_a_field_of_several_lines_is_accepted_wherever_it_stands(
    before: int, tmp_path: Path
) -> None:
    """DuckDB's threads start every 8 MB, and refuse such a field where one of them starts."""
    row, field = b"a\n", b'"' + b"line\n" * 40_000 + b'"\n'
    rows = before // len(row)
    content = b"label\n" + row * rows + field + row * (9_000_000 - rows)
    counts, prevalences = records(written(tmp_path, "t.csv", content))
    assert (counts, prevalences) == ([1, 9_000_000], [1, 1])


@pytest.mark.parametrize(
    "record",
    [b'"a', b'a"', b'a"b', b'"a"b', b'"a" ', b' "a"', b'"a""', b'""a"', b'"', b'"a"b"'],
    ids=repr,
)
@pytest.mark.parametrize("rest", [b"", b"b,1\n", b'"b",1\n', b'b,"\n"\n"c",2\n'], ids=repr)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
@pytest.mark.quick(every=7)
def test_a_quote_that_is_out_of_place_is_refused(
    record: bytes, rest: bytes, name: str, tmp_path: Path
) -> None:
    """DuckDB may take it for one that is never closed, and drop the rows after it in silence."""
    pack = {"gz": gzipped, "zst": zstd}.get(name.rsplit(".")[-1], bytes)
    for content in (b"label,x\n" + record + b",1\n" + rest, b"label,x\n1," + record + b"\n" + rest):
        with refused(InputFileError, "line ", "quote"):
            records(written(tmp_path, name, pack(content)))


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    with refused(ColumnError, "'label'", "more than one"):
        records(written(tmp_path, "t.csv", b"label,x,label\na,%b,b\n" % SENT))
    assert records(written(tmp_path, "u.csv", b"label,x,x\na,b,c\n")) == ([1], [1])


def test_the_temporary_folder_is_private_and_removed(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []
    connect = file_opener.open_private_connection

    def watched(stack: ExitStack, **options: bool) -> duckdb.DuckDBPyConnection:
        connection = connect(stack, **options)
        setting = connection.sql("SELECT current_setting('temp_directory')").fetchall()
        folder = Path(setting[0][0])
        seen.append(folder)
        assert folder.parent == temporary
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        return connection

    monkeypatch.setattr(file_opener, "open_private_connection", watched)
    records(written(tmp_path, "good.csv", b"label\na\n"))
    with refused(DataError):
        records(written(tmp_path, "bad.csv", b"label,x\n,1\n"))
    with refused(InputFileError):
        records(written(tmp_path, "worse.csv", b"label,x\n1\n"))
    with refused(ColumnError):
        records(written(tmp_path, "other.csv", b"other,x\n1,2\n"))
    assert len(seen) == 4
    assert not any(folder.exists() for folder in seen)


def large_parquet(path: Path, rows: int, labels: str) -> None:
    """Write `rows` rows; `labels` is SQL over the row number i."""
    with duckdb.connect() as connection:
        numbers = connection.sql("SELECT unnest(range(?)) AS i", params=[rows])
        numbers.project(f"{labels} AS label").write_parquet(str(path))


@pytest.mark.parametrize(("memory", "expected"), [(50, "spills"), (5, "fails")])
@pytest.mark.quick("[5-fails]")
def test_more_labels_than_memory(
    memory: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`memory` is in MB."""
    path = tmp_path / "large.parquet"
    rows = 1_000_000
    # Twice each label, so that spilled parts have to be brought together again.
    large_parquet(path, rows, f"'{SENTINEL}' || (i % {rows // 2})")
    monkeypatch.setattr(private_duckdb, "_MEMORY", memory * 10**6)
    monkeypatch.setattr(private_duckdb, "_quarter", lambda _: 0)
    if expected == "spills":
        assert records(path) == ([2], [rows // 2])
    else:
        with refused(DataError, "memory=", "temp=", str(path)):
            records(path)


@pytest.mark.verify
def test_progress_is_told_and_never_falls(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    large_parquet(path, 3_000_000, "i::VARCHAR")
    seen: list[float] = []
    threads: set[str] = set()

    def progress(fraction: float) -> None:
        seen.append(fraction)
        threads.add(threading.current_thread().name)

    counting.count_records(path, label="label", progress=progress)
    assert seen == sorted(seen)
    assert all(0 < fraction <= 1 for fraction in seen)
    assert seen[-1] == 1
    assert not any(thread.name == "dphist-progress" for thread in threading.enumerate())


def test_a_broken_progress_costs_no_result(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def progress(_: float) -> None:
        raise ValueError(SENTINEL)

    path = written(tmp_path, "t.csv", b"label\na\n")
    counts, _ = counting.count_records(path, label="label", progress=progress)
    assert counts.tolist() == [1]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("read", [records, profile])
def test_what_is_neither_table_nor_path(read: Callable[[object], object]) -> None:
    for frame in (None, 3, b"t.csv", [SENTINEL], {"label": SENTINEL}, {SENTINEL}, [{}, SENTINEL]):
        with refused(ParameterError, "frame must"):
            read(frame)


@pytest.mark.quick("[t.csv-", every=2)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_where_an_empty_line_stands_does_not_matter(name: str, end: bytes, tmp_path: Path) -> None:
    """DuckDB's buffers have 32,000,000 bytes; an empty line at the start of one was refused."""
    head, record = b"label,n" + end, b"abcdef,1" + end
    records, rest = divmod(32_000_000 - len(head), len(record))
    # The first record is longer, so that the empty line stands at the boundary exactly.
    first = b"q" * rest + record
    for rows in (records, records - 1):
        content = head + first + record * (rows - 1) + end + record * 10
        assert (len(head + first + record * (rows - 1)) == 32_000_000) is (rows == records)
        path = written(tmp_path, name, gzipped(content) if name.endswith("gz") else content)
        counts, labels = counting.count_records(path, label="label")
        assert int((counts * labels).sum()) == rows + 10


def test_what_nobody_reads_is_judged_nowhere(tmp_path: Path) -> None:
    """Bytes that are no text, in a column that is not asked for: before and after 2**20 bytes."""
    for rows in (3, 262_143, 262_150):
        path = written(tmp_path, "t.csv", b"w,v\n" + b"x,1\n" * rows + b"x,\xff\n")
        assert counting.count_records(path, label="w")[0].tolist() == [rows + 1]
        with refused(InputFileError, f"line {rows + 2:,} of '{path}' is not text in UTF-8"):
            counting.count_records(path, label="v")


def test_a_header_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with refused(InputFileError, "UTF-8"):
        counting.count_records(written(tmp_path, "t.csv", b"w,v\xff\nx,1\n"), label="w")
