"""Tables of contents from the lists of index pages.

Each list item of an `index.md` that begins with a link to a page puts this page under the index, in
the order of the list. The title in the contents is that of the link.
"""

import re
from posixpath import basename
from typing import Any

ITEM = re.compile(r"^[-*] \[([^\]]+)\]\(([^)#:\s]+)\.md\)", re.MULTILINE)


def read(app: Any, name: str, source: list[str]) -> None:
    """Add a hidden table of contents to an index that Sphinx has read."""
    if basename(name) == "index":
        entries = "\n".join(f"{title} <{page}>" for title, page in ITEM.findall(source[0]))
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, after the links were rewritten."""
    app.connect("source-read", read, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
