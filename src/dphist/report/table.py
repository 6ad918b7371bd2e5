"""The released table as CSV, for spreadsheets and other programs."""

from dphist.release.release import Release
from dphist.report.kinds import kind_of


def table_csv(release: Release) -> str:
    """Return the released table as CSV with one header line, in UTF-8.

    | kind | columns | rows |
    |---|---|---|
    | anonymized | count,prevalence | one a count, ascending |
    | ranges | start,stop,count,error; of several axes start_x,stop_x,... by name | one a bin |
    | labels | label,count; rankings: label alone | one a label, in the order released |
    | streams | time,label,count | one a label and reading |

    The empty text is written ``""``. An empty field is a missing label, which says that fewer
    labels than wanted were found. `LabelCounts.from_table` reads CSV the same way.
    """
    return kind_of(release).table(release)
