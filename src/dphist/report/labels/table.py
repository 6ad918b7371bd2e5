"""The table of released labels as CSV."""

from dphist.release.label_table import LabelTable
from dphist.report.csv_field import Field, csv_field
from dphist.report.labels_shown import label_texts


def labels_csv(value: LabelTable, field: Field = csv_field) -> str:
    """Return columns label,count, or label alone for a ranking, in the order released."""
    labels = [field(label) for label in label_texts(value)]
    if value.counts is None:
        return "label\n" + "".join(f"{label}\n" for label in labels)
    rows = zip(labels, value.counts.tolist(), strict=True)
    return "label,count\n" + "".join(f"{label},{count}\n" for label, count in rows)
