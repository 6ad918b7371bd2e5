"""Pictures, commands and output that can be read on a phone.

Where `NAME-narrow.svg` or `.png` lies beside a picture `NAME`, a narrow window shows it instead.
Every picture links to its file, so that a tap shows it large.

Commands are broken between words, never inside an option. Output with long lines is prose, which is
broken too; other output is a table, which would be spoiled. `static/site.css` does the rest.
"""

import re
from html import unescape
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import Any

MARK = "-narrow"
IMAGE = re.compile(r'<img [^>]*src="([^"]*_images/([^"]+))"[^>]*>')
"""A picture of a page that Sphinx has written: its address, and the name of the file."""
COMMANDS = re.compile(r'<div class="highlight-bash notranslate">.*?</pre>', re.DOTALL)
OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]*)")
OUTPUT = re.compile(
    r'<div class="highlight-text( notranslate"><div class="highlight"><pre>)(.*?)</pre>', re.DOTALL
)
INLINE = re.compile(r'<span class="pre">(--[a-z][\w-]*)</span>')
LONG = 100  # characters


def narrow(folder: Path) -> dict[str, Path]:
    """Return the narrow pictures below a folder, by the names of the pictures they stand in for."""
    return {
        path.name.replace(MARK, ""): path
        for path in sorted(folder.rglob(f"*{MARK}.*"))
        if path.suffix in (".svg", ".png")
    }


def shown(body: str, names: set[str]) -> str:
    """Return a page whose pictures have links, and narrow variants where their names are given."""

    def picture(found: re.Match[str]) -> str:
        address, name = found.groups()
        image = found[0]
        if name in names:
            other = PurePosixPath(address).with_stem(PurePosixPath(address).stem + MARK)
            image = (
                f'<picture><source media="(max-width: 600px)" srcset="{other}">{image}</picture>'
            )
        return f'<a class="picture" href="{address}">{image}</a>'

    return IMAGE.sub(picture, body)


def broken(body: str) -> str:
    """Return a page with marks of where commands and output may be broken."""

    def whole(text: str) -> str:
        return OPTION.sub(r'<span class="option">\1</span>', text)

    def output(found: re.Match[str]) -> str:
        if all(len(unescape(line)) <= LONG for line in found[2].splitlines()):
            return found[0]
        return whole(found.expand(r'<div class="highlight-text long\1\2</pre>'))

    body = INLINE.sub(r'<span class="pre option">\1</span>', body)
    return OUTPUT.sub(output, COMMANDS.sub(lambda found: whole(found[0]), body))


def change(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Change a page that is about to be written."""
    if "body" in context:
        body = shown(context["body"], set(narrow(Path(app.srcdir) / "images")))
        context["body"] = broken(body)


def copy(app: Any, error: Exception | None) -> None:
    """Copy the narrow pictures to where Sphinx has put the others."""
    folder = Path(app.outdir) / "_images"
    if error is None and folder.is_dir():
        for path in narrow(Path(app.srcdir) / "images").values():
            copyfile(path, folder / path.name)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", change)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
