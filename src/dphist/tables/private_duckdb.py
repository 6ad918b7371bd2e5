"""A DuckDB of our own, in which nothing of a caller's can change what SQL means.

Bounding and counting rely on two labels being one exactly if they are the same bytes. On a
caller's connection that need not be so: columns and sessions have collations, to which `a` and
`A` are one, and macros may stand in for functions. So rows are streamed here first.
"""

import tempfile
from contextlib import ExitStack

import duckdb

# Beyond this DuckDB spills to its folder; benchmarks/large_file.py and benchmarks/label_speed.py
# measure what the process takes in all. Each thread needs a share, hence the limit on threads.
_MEMORY = "2GB"
_MOST_THREADS = 8


def connected(stack: ExitStack) -> duckdb.DuckDBPyConnection:
    """Return a connection that fetches and prints nothing, and spills into a folder of its own.

    Both are gone when `stack` is closed. Labels may be spilled, unencrypted; only the owner of
    the folder may read it, and ``TMPDIR`` says where it is made.
    """
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dphist-"))
    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            "temp_directory": folder,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    stack.enter_context(connection)
    # Without the bar DuckDB does not keep count of its progress; printing is another matter.
    connection.execute("SET enable_progress_bar_print = false")
    connection.execute("SET enable_progress_bar = true")
    if connection.execute("SELECT current_setting('threads')").fetchall()[0][0] > _MOST_THREADS:
        connection.execute(f"SET threads = {_MOST_THREADS}")
    return connection
