"""Text of files and their names, made safe to show: on a terminal it could move the cursor."""

_JOINERS = "\u200c\u200d"
_LATIN = 0x24F  # the last character of Latin scripts


def visible(text: str) -> str:
    """Return a text of one line in which all that cannot be printed is escaped, as Python does it.

    >>> visible("a\\x1b[2Jb\\n"), visible("Bücher 你好")
    ('a\\\\x1b[2Jb\\\\n', 'Bücher 你好')
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or _joins(text, at) else c.encode("unicode_escape").decode()
        for at, c in enumerate(text)
    )


def harmless(label: str, length: int) -> str:
    """Return a label of limited length that cannot control a terminal or a page.

    >>> harmless("a\\x1b[2Jb", 20), harmless("abcdef", 4), harmless("", 4)
    ('a\\\\x1b[2Jb', 'abc…', '""')
    """
    seen = visible(label[: length + 1])
    if not seen.strip():
        return f'"{seen[:length]}"'
    return seen if len(seen) <= length and len(label) <= length else seen[: length - 1] + "…"


def visible_lines(text: str) -> str:
    """Return a text of several lines, each made visible."""
    return "\n".join(map(visible, text.split("\n")))


def _joins(text: str, at: int) -> bool:
    """Whether a character joins two others of no Latin script: parts of an emoji, or letters."""
    beside = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] in _JOINERS and len(beside) == 2 and all(ord(c) > _LATIN for c in beside)
