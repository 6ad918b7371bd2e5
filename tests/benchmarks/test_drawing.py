"""Pictures of benchmarks: every name is inside, whatever the names are."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from benchmarks import drawing
from dphist.document.compared import NOTHING, Contender


def legend_is_inside(figure) -> bool:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (legend,) = figure.legends
    box, page = legend.get_window_extent(), figure.bbox
    texts = [text.get_window_extent() for text in legend.get_texts()]
    above = max(ax.get_tightbbox().y1 for ax in figure.axes)
    return (
        all(one.x0 >= 0 and one.x1 <= page.x1 and one.y1 <= page.y1 for one in [box, *texts])
        and box.y0 >= above - 1
    )


@pytest.mark.long(every=2)
@pytest.mark.quick("[names0-6]", "[names1-10]", "[names2-6]", every=3)
@pytest.mark.parametrize("width", [6, 10, 16])
@pytest.mark.parametrize("names", [["a"], ["a long name of a mechanism"] * 9, ["W" * 45] * 3])
def test_legends_are_not_cut(width, names) -> None:
    figure = drawing.new_figure(width, 4)
    figure.subplots(1, 2)
    contenders = [
        Contender(f"{name} {place}", NOTHING, lambda e, p: None, "#000000")
        for place, name in enumerate(names)
    ]
    drawing.legend(figure, contenders)
    assert legend_is_inside(figure)
