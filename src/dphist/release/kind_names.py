"""The names of kinds, and those that files of earlier versions have in their place."""

KINDS = ("anonymized", "ranges", "labels", "streams")
"""The kinds of dphist, which are the folders of their mechanisms."""

OLD_NAMES = {
    "anonymized histogram": "anonymized",
    "universal histogram": "ranges",
    "labelled histogram": "labels",
    "running histogram": "streams",
    "stream": "streams",
}
"""The names of kinds by what files of earlier versions call them; plans had the last one."""


def kind_name(written: str) -> str:
    """Return the name of a kind by what a file of this version or an earlier one calls it.

    >>> kind_name("universal histogram"), kind_name("ranges")
    ('ranges', 'ranges')
    """
    return OLD_NAMES.get(written, written)
