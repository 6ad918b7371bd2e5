"""Help of options that set a parameter of a mechanism, from the metadata of its fields."""

from dphist.mechanism import meanings_of


def help_of(mechanism: type, parameter: str, more: str = "") -> str:
    """Return the meaning of a parameter, followed by what the command line adds to it.

    >>> from dphist.labels import TopLabels
    >>> help_of(TopLabels, "k", " (default: 10)")
    'labels that are listed at most (default: 10)'
    """
    meaning = meanings_of(mechanism)[parameter]["meaning"].removesuffix(".")
    text = f"{meaning[0].lower()}{meaning[1:]}{more}"
    return text.replace("%", "%%")  # which argparse would fill in
