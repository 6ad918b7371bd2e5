"""A label as a field of a CSV file."""

_SPECIAL = frozenset(',"\r\n')


def csv_field(label: str | None) -> str:
    """Write a label; a missing one as nothing.

    Also quoted are the empty text, and labels that begin or end with white space: programs that
    read CSV often drop these.

    >>> [csv_field(label) for label in ("tea", "", " milk", "a,b", None)]
    ['tea', '""', '" milk"', '"a,b"', '']
    """
    if label is None:
        return ""
    if label.strip() == label != "" and _SPECIAL.isdisjoint(label):
        return label
    doubled = label.replace('"', '""')
    return f'"{doubled}"'
