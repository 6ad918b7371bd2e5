"""The released table as text, for spreadsheets and other programs."""

import csv
import io

from dphist.data.profile import Profile
from dphist.release.label_table import LabelTable
from dphist.release.release import Release
from dphist.report.kinds import kind_of
from dphist.report.labels_shown import label_texts


def table_csv(release: Release) -> str:
    """Return the released table as CSV with one header line, in UTF-8.

    Of an anonymized release: columns count,prevalence, ascending counts. Of a labelled one:
    columns label,count, or label alone, in the order released. The empty text is ``""``, and a
    missing label, which says that fewer labels than wanted were found, an empty field; with label
    alone that is an empty line. `LabelCounts.from_table` reads CSV the same way. Of a universal
    one: columns start,stop,count,error, of several axes start_x,stop_x,... by name; a row a bin.
    """
    return kind_of(release).table(release)


def anonymized(value: Profile) -> str:
    """Return the table of an anonymized release."""
    pairs = zip(value.counts.tolist(), value.prevalences.tolist(), strict=True)
    return "count,prevalence\n" + "".join(f"{count},{labels}\n" for count, labels in pairs)


def labelled(value: LabelTable) -> str:
    """Return the table of a labelled release."""
    labels = [_field(label) for label in label_texts(value)]
    counts = value.counts
    if counts is None:
        return "label\n" + "".join(f"{label}\n" for label in labels)
    rows = zip(labels, counts.tolist(), strict=True)
    return "label,count\n" + "".join(f"{label},{count}\n" for label, count in rows)


def _field(label: str | None) -> str:
    """Write a label; quoted also where it is empty or begins or ends with white space."""
    if label is None:
        return ""
    line = io.StringIO()
    if label.strip() == label != "":
        csv.writer(line, lineterminator="").writerow([label])
    else:
        csv.writer(line, lineterminator="", quoting=csv.QUOTE_ALL).writerow([label])
    return line.getvalue()
