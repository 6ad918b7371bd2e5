"""The picture of ARCHITECTURE.md, drawn from the code: `make architecture`.

Rows are the layers of the import contract in pyproject.toml, with what each room says of itself.
"""

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from benchmarks.base import read_parts
from benchmarks.size import SOURCE

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/images/architecture.svg"

_WIDTH, _MARGIN, _GAP, _BAR = 960, 12, 8, 14  # pixels
_LINE, _LETTER = 16, 6.7  # height of a line; width of a letter, so wide that no line is cut off
_STYLE = """\
  rect { fill: #ffffff; stroke: #57606a; }
  rect.ground { stroke: none; }
  rect.base { fill: #fde7c3; }
  text { font: 12px sans-serif; fill: #1f2328; }
  text.name { font-weight: bold; font-size: 14px; }"""


def read_layers() -> list[list[str]]:
    """Return the rooms of each layer, the highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [
        [name.strip().removeprefix("dphist.") for name in layer.replace(":", "|").split("|")]
        for layer in contract["layers"]
    ]


def describe(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    folder = SOURCE / room
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(text.split("\n\n")[0].replace("`", "").split())


def draw() -> str:
    """Return the picture as SVG: orange rooms are of the trusted base, or in part."""
    boxes: list[str] = []
    top = _MARGIN
    for rooms in read_layers():
        width = (_WIDTH - 2 * _MARGIN - _GAP * (len(rooms) - 1)) / len(rooms)
        texts = [
            textwrap.wrap(describe(room), int((width - _BAR - 16) / _LETTER)) for room in rooms
        ]
        height = _LINE * (max(map(len, texts)) + 1) + 14
        for place, (room, lines) in enumerate(zip(rooms, texts, strict=True)):
            boxes += _draw_room(room, lines, _MARGIN + place * (width + _GAP), top, width, height)
        top += height + _GAP
    size = f'width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>\n{_STYLE}\n</style>",
            '<rect class="ground" width="100%" height="100%"/>',
            *boxes,
            "</svg>\n",
        ]
    )


def _draw_room(
    room: str, lines: list[str], left: float, top: int, width: float, height: int
) -> Iterator[str]:
    place = f'x="{left:g}" y="{top}" width="{width:g}" height="{height}"'
    yield f'<rect class="{_trust(room)}" {place}/>'
    if _trust(room) == "part":
        yield f'<rect class="base" x="{left:g}" y="{top}" width="{_BAR}" height="{height}"/>'
    for number, line in enumerate([room, *lines]):
        name = ' class="name"' if number == 0 else ""
        at = f'x="{left + _BAR + 8:g}" y="{top + _LINE * (number + 1) + 3}"'
        yield f"<text{name} {at}>{escape(line)}</text>"


def _trust(room: str) -> str:
    """Return the class of a room: all of it is trusted, a part, or nothing."""
    trusted = {file for part in read_parts() for file in part.files}
    folder = SOURCE / room
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    # A folder's own file often holds its docstring alone.
    own = {path.relative_to(SOURCE) for path in files if path.name != "__init__.py"}
    return "base" if own <= trusted else "part" if own & trusted else "rest"


if __name__ == "__main__":
    PICTURE.write_text(draw())
