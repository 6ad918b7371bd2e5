"""What is said of released labels by themselves."""

from dphist.document.of_value import OfValue, head_of_labels
from dphist.release.label_table import LabelTable


def of_value(table: LabelTable, most: int) -> OfValue:
    """Return what is said of labels, with up to `most` rows."""
    return OfValue(title="Released labels", head=head_of_labels(table, most))
