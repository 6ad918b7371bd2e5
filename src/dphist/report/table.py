"""The released table as CSV, for spreadsheets and other programs."""

from dphist.document.csv_field import MARK
from dphist.release.release import Release
from dphist.report.kinds import table_of


def table_csv(release: Release, *, spreadsheet_safe: bool = False) -> str:
    """Return the released table as CSV with one header line, in UTF-8.

    Parameters
    ----------
    spreadsheet_safe : write labels so that a spreadsheet runs none as a formula, and reads none as
        a number or date: see `dphist.document.csv_field.safe_field`. The text begins with a byte
        order mark.

    | kind | columns | rows |
    |---|---|---|
    | anonymized | count,prevalence | one a count, ascending |
    | ranges | start,stop,count,error; of several axes start_x,stop_x,... by name | one a bin |
    | labels | label,count; rankings: label alone | one a label, in the order released |
    | streams | time,label,count | one a label and reading |

    The empty text is written ``""``. An empty field is a missing label, which says that fewer
    labels than wanted were found. `LabelCounts.from_table` reads CSV the same way.
    """
    text = table_of(release, safe=spreadsheet_safe)
    return MARK + text if spreadsheet_safe else text
