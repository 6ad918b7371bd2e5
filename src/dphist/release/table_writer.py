"""TableWriter: a released table as a file that other programs open."""

from pathlib import Path
from typing import Any

from dphist.files import stage_outputs, write_text
from dphist.shown import show_by


class TableWriter:
    """What writes the table of a release. All files are written whole or not at all."""

    __slots__ = ()

    def to_csv(
        self,
        path: str | Path | None = None,
        *,
        spreadsheet_safe: bool = False,
        show_below: int | None = None,
    ) -> str | None:
        """Return the released table as CSV in UTF-8, as ``--table`` writes it; or write it.

        Parameters
        ----------
        path : of the file, written whole or not at all (default: the text is returned).
        spreadsheet_safe : for a file that people open in a spreadsheet, which runs some labels as
            formulas and changes others. An apostrophe stands ahead of each label that does not
            begin with a letter or has a digit (`docs/reference/release-format.md`).
        show_below : write estimates below it as ``<10``, where a rule asks for it, and leave empty
            what would tell them: of labels and tables. What adds up may give them back.

        Raises
        ------
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        text: str = show_by(
            "table_csv", self, spreadsheet_safe=spreadsheet_safe, show_below=show_below
        )
        if path is None:
            return text
        write_text(path, text)
        return None

    def to_xlsx(self, path: str | Path, *, show_below: int | None = None) -> None:
        """Write the released table as an .xlsx workbook, as ``--table r.xlsx`` writes it.

        It has a sheet for each table, and a last one that says how to read them: guarantee, bounds
        and intervals, in the words of `present`. No cell is a formula, whatever the labels are.
        Whole numbers above 2**53, which a spreadsheet would change, are texts.

        Parameters
        ----------
        show_below : as for `to_csv`, here also in what is said of the release.

        Raises
        ------
        DphistError
            If XlsxWriter is not installed: ``pip install 'dphist[excel]'``.
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        self._write(path, ".xlsx", show_below=show_below)

    def to_parquet(self, path: str | Path) -> None:
        """Write the released table as Parquet, as ``--table r.parquet`` writes it.

        The key ``dphist`` of the schema's metadata holds guarantee, unit, mechanism and bounds as
        JSON: ``pyarrow.parquet.read_schema(path).metadata[b"dphist"]``.

        Raises
        ------
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        self._write(path, ".parquet")

    def to_sdmx_csv(
        self, path: str | Path | None = None, *, structure: str | None = None
    ) -> str | None:
        """Return the released table as SDMX-CSV 2.0, for statistics offices; or write it.

        Parameters
        ----------
        path : of the file (default: the text is returned).
        structure : the dataflow, ``AGENCY:ID(VERSION)`` (default: ``DPHIST:`` and the kind).

        Raises
        ------
        ParameterError
            If `structure` is of another form.
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        if path is None:
            text: str = show_by("table_file", self, form=".sdmx.csv", structure=structure)
            return text
        self._write(path, ".sdmx.csv", structure=structure)
        return None

    def _write(self, path: str | Path, form: str, **options: Any) -> None:
        content = show_by("table_file", self, form=form, **options)
        with stage_outputs() as staged:
            staged.write(path, content)
