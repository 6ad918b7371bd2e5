"""Cut pictures of results into parts, and stack the parts for a narrow window.

    python docs/images/narrow.py

Most of these pictures take minutes or hours to measure again. Their narrow variants are cut from
the pictures themselves, so that both show the same numbers. After a picture was drawn again, run
this; if its size changed, correct its boxes first.
"""

from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
Box = tuple[int, int, int, int]
Row = list[Box]
"""Boxes of a picture that stand side by side: left, top, right, bottom, in pixels."""

MAXIMUM = 600  # pixels; the text of a wider picture is below 10 pixels in a window of 400
SMALLER_TEXT = {"properties": 506}  # the maximum of a picture whose text is smaller
GAP = 6  # pixels between rows


def beside(strips: list[Box], top: int, bottom: int, columns: list[tuple[int, int]]) -> list[Row]:
    """Return a row a column of panels: the first as it is, others with strips of its axis."""
    first, *others = columns
    return [
        [(first[0], top, first[1], bottom)],
        *(
            [*((a, top, b, bottom) for a, _, b, _ in strips), (left, top, right, bottom)]
            for left, right in others
        ),
    ]


def _seconds() -> list[Row]:
    columns = [(0, 566), (566, 1061), (1061, 1560)]
    upper = beside([(0, 0, 72, 0)], 95, 484, columns)
    ticks = beside([(0, 0, 72, 0)], 880, 936, columns)  # that the upper panels share
    lower = beside([(0, 0, 72, 0)], 489, 936, columns)
    return [row for pair in zip(upper, ticks, strict=True) for row in pair] + lower


def _positions() -> list[Row]:
    columns = [(0, 474), (474, 790), (790, 1155)]
    legend: list[Row] = [[(0, 8, 290, 38)], [(290, 8, 685, 38)]]
    return legend + beside([(0, 0, 24, 0)], 40, 572, columns)


LABEL = [(0, 0, 26, 0)]  # the label of the vertical axis
RECIPES: dict[str, tuple[tuple[int, int], list[Row]]] = {
    "comparison-errors": (
        (1768, 1560),
        [
            *([(a, 8, b, 90)] for a, b in [(0, 526), (540, 950), (965, 1420)]),
            *(
                row
                for top, bottom in [(95, 449), (449, 801), (801, 1184)]
                for row in beside(
                    LABEL, top, bottom, [(0, 467), (467, 904), (904, 1340), (1340, 1768)]
                )
            ),
            [(0, 1184, 467, 1560)],
        ],
    ),
    "comparison-seconds": (
        (1560, 936),
        [*([(a, 8, b, 90)] for a, b in [(22, 535), (563, 953), (986, 1421)]), *_seconds()],
    ),
    "comparison-summary": (
        (1430, 650),
        [
            *([(a, 8, b, 88)] for a, b in [(0, 530), (545, 955), (968, 1430)]),
            [(0, 92, 728, 650)],
            [(728, 92, 1430, 650)],
        ],
    ),
    "composition": (
        (1188, 462),
        [
            [(0, 8, 330, 54)],
            [(335, 8, 720, 54)],
            *beside([(0, 0, 53, 0)], 56, 462, [(0, 430), (430, 808), (808, 1188)]),
        ],
    ),
    "hay-ranges": (
        (1155, 1089),
        [
            [(0, 8, 242, 36)],
            [(242, 8, 520, 36)],
            *(
                row
                for top, bottom in [(37, 379), (381, 719), (720, 1089)]
                for row in beside([(0, 0, 53, 0)], top, bottom, [(0, 421), (421, 787), (787, 1155)])
            ),
        ],
    ),
    "hay2010-errors": (
        (1155, 869),
        [
            [(0, 8, 440, 38)],
            [(450, 8, 600, 38)],
            *(
                row
                for top, bottom in [(40, 316), (316, 593), (593, 869)]
                for row in beside([(0, 0, 58, 0)], top, bottom, [(0, 425), (425, 791), (791, 1155)])
            ),
        ],
    ),
    "hay2010-positions-network-trace": ((1155, 572), _positions()),
    "hay2010-positions-social-network": ((1155, 572), _positions()),
    "lower-bounds": (
        (1560, 1235),
        [
            *([(a, 8, b, 113)] for a, b in [(0, 535), (545, 956), (965, 1420)]),
            *beside(LABEL, 117, 676, [(0, 794), (794, 1560)]),
            *beside(LABEL, 676, 1235, [(0, 794), (794, 1560)]),
        ],
    ),
    "properties": (
        (1100, 836),
        [
            [(0, 0, 450, 26)],
            *beside([(0, 0, 60, 0)], 26, 388, [(0, 405), (405, 752), (752, 1100)]),
            *([(a, 390, b, 416)] for a, b in [(0, 397), (397, 610), (610, 890)]),
            [(0, 431, 457, 458)],
            [(457, 431, 770, 458)],
            [(0, 460, 504, 780)],
            [(0, 459, 150, 483), (506, 459, 656, 483)],  # what is not made narrower
            [(0, 484, 150, 756), (506, 484, 1100, 756)],
            [(500, 757, 974, 780)],
            [(0, 783, 366, 826)],
            [(366, 783, 840, 826)],
        ],
    ),
}
"""The size of each picture, and the rows of its narrow variant."""


def cut(name: str) -> Image.Image:
    """Return the narrow variant of a picture."""
    size, rows = RECIPES[name]
    with Image.open(HERE / f"{name}.png") as file:
        whole = file.convert("RGB")
    if whole.size != size:
        raise ValueError(f"{name}.png is now {whole.size}: its boxes are for {size}")
    lines = [_line(whole, row, SMALLER_TEXT.get(name, MAXIMUM)) for row in rows]
    height = sum(line.height for line in lines) + GAP * (len(lines) - 1)
    found = Image.new("RGB", (max(line.width for line in lines), height), "white")
    top = 0
    for line in lines:
        found.paste(line, (0, top))
        top += line.height + GAP
    return found.quantize(128, dither=Image.Dither.NONE)


def _line(whole: Image.Image, row: Row, maximum: int) -> Image.Image:
    """Return the boxes side by side; the last is made narrower, not smaller, where it must be."""
    parts = [whole.crop(box) for box in row]
    *before, last = parts
    room = maximum - sum(part.width for part in before)
    if last.width > room:
        parts[-1] = last.resize((room, last.height), Image.Resampling.LANCZOS)
    found = Image.new("RGB", (sum(part.width for part in parts), parts[0].height), "white")
    left = 0
    for part in parts:
        found.paste(part, (left, 0))
        left += part.width
    return found


def main() -> None:
    """Write the narrow variants beside the pictures."""
    for name in RECIPES:
        cut(name).save(HERE / f"{name}-narrow.png", optimize=True)


if __name__ == "__main__":
    main()
