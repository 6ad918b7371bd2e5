"""A public list of labels, read from a file."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dphist.commands.options import UsageError
from dphist.errors import InputFileError
from dphist.tables import redact_errors


def known_labels(path: str) -> list[Any]:
    """Read public labels: lines of text, or the one column of a Parquet file.

    Raises
    ------
    InputFileError
        If the file is not that.
    """
    if not Path(path).exists():
        raise UsageError(f"{path} does not exist")
    problem = InputFileError(
        f"{path} must hold known labels: a text file (UTF-8), one label a line, or a Parquet file "
        "of one column"
    )

    def listed() -> list[Any]:
        if Path(path).suffix.lower() == ".parquet":
            table = pq.read_table(path)
            if table.num_columns != 1:
                raise problem
            return list(table.column(0).to_pylist())
        text = Path(path).read_text(encoding="utf-8-sig")
        return [line for line in (each.removesuffix("\r") for each in text.split("\n")) if line]

    labels: list[Any] = redact_errors(listed, problem)
    if not labels or len({repr(label) for label in labels}) < len(labels):
        raise InputFileError(f"{path} must list at least one label, and each once")
    return labels
