"""Memory, threads and the temporary folder of counting: what is asked for is what is used."""

import threading
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

import dphist as dh
from dphist import DataError, ParameterError
from dphist.counting.engine import private_duckdb
from dphist.counting.engine.private_duckdb import default_memory, open_private_connection
from dphist.counting.engine.resources import resources


@pytest.fixture(autouse=True)
def none_idle() -> None:
    private_duckdb.close_idle()


def used() -> tuple[int, int, str]:
    """Return memory, threads and folder of a private database."""
    with ExitStack() as stack:
        connection = open_private_connection(stack, large=True)
        query = "SELECT current_setting('memory_limit'), current_setting('threads')"
        memory, threads = connection.execute(query).fetchall()[0]
        folder = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
    return int(private_duckdb._bytes(memory)), int(threads), str(Path(folder).parent)


def test_what_is_asked_for_is_used_and_ends_with_the_block(tmp_path: Path, temporary: Path) -> None:
    """Also where a database is used again."""
    before = used()
    assert before[2] == str(temporary)
    with dh.Resources(memory="512MiB", threads=3, temp=tmp_path):
        assert used() == (2**29, 3, str(tmp_path))
        with dh.Resources(threads=1):
            assert used() == (before[0], 1, before[2])
        assert used() == (2**29, 3, str(tmp_path))
    assert used() == before
    assert list(tmp_path.iterdir()) == []


def test_a_block_is_of_its_thread() -> None:
    found = []
    with dh.Resources(threads=1):
        thread = threading.Thread(target=lambda: found.append(resources().threads))
        thread.start()
        thread.join()
    assert found == [None]


def test_by_default_no_more_than_half_of_the_memory_is_used() -> None:
    """DuckDB knows the limit of a container."""
    gigabyte = 10**9
    quarters = {32: 8, 8: 2, 4: 2, 2: 1, 1: 0.5}
    for memory, expected in quarters.items():
        assert default_memory(memory * gigabyte // 4, large=True) == expected * gigabyte
    assert default_memory(8 * gigabyte, large=False) == 2 * gigabyte
    assert default_memory(0, large=True) == 2 * gigabyte  # unknown


@pytest.mark.parametrize(
    "memory", ["", "4 apples", "-1GB", "63MB", 10**6, True, 4.5, "nan", "9" * 20, "1e9"]
)
def test_memory_that_is_no_size_is_refused(memory: object) -> None:
    with pytest.raises(ParameterError, match="memory must be a number of bytes"):
        dh.Resources(memory=memory)  # type: ignore[arg-type]


@pytest.mark.parametrize("memory", ["9223373TB", "999999999999999 TiB", 10**15, 2**70])
def test_more_memory_than_an_engine_can_address_is_all_of_it(memory: int | str) -> None:
    with dh.Resources(memory=memory):
        counts = dh.LabelCounts.from_table(pa.table({"label": ["a"]}), label="label")
    assert counts.counts_of(["a"]) == [1]


def test_other_settings_are_checked_at_once(tmp_path: Path) -> None:
    for threads in (0, -1, True, 1.5, 10**6):
        with pytest.raises(ParameterError, match="threads must be"):
            dh.Resources(threads=threads)  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    for temp in (tmp_path / "none", tmp_path / "file", 3, "", b"/"):
        with pytest.raises(ParameterError, match="temp must be a folder"):
            dh.Resources(temp=temp)  # type: ignore[arg-type]


def test_a_folder_that_is_gone_is_an_error_of_ours(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    asked = dh.Resources(temp=folder)
    folder.rmdir()
    with asked, pytest.raises(DataError, match=r"no temporary folder .*; give memory"):
        used()
