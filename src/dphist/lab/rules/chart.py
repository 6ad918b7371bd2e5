"""The picture of an attack: what the rule says of suppressed counts, and what a reader learns."""

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.chart import Area, Axis, Chart, Line, Spans
from dphist.lab.rules.counts import UNBOUNDED
from dphist.lab.rules.result import RuleResult

_MOST = 60  # counts that are drawn
_THIN = 0.12  # half the height of an interval of one number, which would not be seen


def draw_learned(result: RuleResult) -> Chart | None:
    """Declare the intervals of suppressed counts, narrow ones first; None if there are none."""
    held, learned = result.published, result.attacked.cells
    places = np.flatnonzero(held.suppressed & (learned.high < UNBOUNDED))
    if not len(places):
        return None
    width = learned.high - learned.low
    order = places[np.lexsort((learned.low[places], width[places]))][:_MOST]
    low, high, x = learned.low[order], learned.high[order], np.arange(1, len(order) + 1)
    starts: FloatArray = low.astype(np.float64) - _THIN
    ends: FloatArray = high.astype(np.float64) + _THIN
    top = held.rule.suppress_below - 1
    lines, areas = [], []
    if held.counts.is_known[order].all():
        lines = [Line("the count", x, held.counts.low[order], "dots")]
    if not held.rule.complementary and held.rule.suppress_below:
        sides = np.array([0.5, len(order) + 0.5])
        corners = np.array([0.0, 0.0, top, top])
        areas = [Area("what the rule says", np.concatenate([sides, sides[::-1]]), corners)]
    return Chart(
        "learned",
        "What a reader learns of suppressed counts",
        "Each line is a suppressed count: it reaches from the smallest to the largest number that "
        "agrees with everything published. A short one is a count that follows.",
        Axis("suppressed counts, those that follow exactly first", 0.5, len(order) + 0.5),
        Axis("count (records)", -0.5, max(float(high.max()), top) + 0.5, whole=True),
        areas,
        lines,
        spans=[Spans("what a reader learns", x, starts, ends, "y")],
    )
