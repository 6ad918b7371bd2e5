"""Figures of labels: a threshold and its delta, and the largest counts."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle
from style import BLUE, GRAY, ORANGE, PALE, panels, repeatable, save

import dphist as dh
from dphist.labels.discover.law import HIGHEST, UNIT, next_priorities
from dphist.labels.discover.measuring import make_totals
from dphist.noise import rounded_gaussian


def _marks(axes: Any, values: Any, names: list[str], label: str) -> None:
    """Draw true values as short lines, with a white edge that shows them on bars too."""
    axes.plot(values, names, "|", color="white", markersize=15, markeredgewidth=4)
    axes.plot(values, names, "|", color=GRAY, markersize=14, markeredgewidth=1.5, label=label)


def threshold() -> None:
    """Noisy counts above a threshold, and the chance that a label of one user is released."""
    figure, (left, right) = panels(10, 3.3, 1.2, 1)
    names = ["aspirin", "ibuprofen", "insulin", "zinc", "iron", "a rare drug", "a drug of one user"]
    true = np.array([240, 205, 150, 96, 60, 9, 1])
    noisy = true + np.array([24, -31, 27, -16, 12, -34, 17])
    limit = 75
    colors = [BLUE if each > limit else PALE for each in noisy]
    left.barh(names, noisy, color=colors, height=0.62)
    _marks(left, true, names, "true count")
    left.axvline(limit, color=ORANGE, label="threshold")
    left.invert_yaxis()
    left.set(title="Released: labels above the threshold", xlabel="noisy count, users")
    left.legend(loc="lower right", frameon=True, edgecolor=PALE)
    scale = 30.0
    at = np.linspace(-90, 125, 400)
    density = np.exp(-(((at - 1) / scale) ** 2) / 2) / scale / math.sqrt(2 * math.pi)
    right.plot(at, density, color=BLUE)
    tail = at >= limit
    right.fill_between(at[tail], density[tail], color=ORANGE)
    right.axvline(limit, color=ORANGE)
    right.annotate(
        "at most δ",
        (limit + 6, density[tail][0] * 0.5),
        (85, density.max() * 0.4),
        arrowprops={"arrowstyle": "-", "color": GRAY},
    )
    right.set(title="Noisy count of a label of one user", xlabel="noisy count, users", yticks=[])
    right.text(limit + 3, density.max() * 0.92, "threshold", color=ORANGE)
    right.spines["left"].set_visible(False)
    save(
        figure,
        "threshold",
        "A threshold for labels nobody listed",
        "On the left, seven labels with noisy counts; the four above the threshold are released. "
        "On the right, the law of the noisy count of a label that a single user has: it exceeds "
        "the threshold with a chance of at most delta (drawn larger than it is).",
    )


def top_labels() -> None:
    """The largest noisy counts, with and without their numbers."""
    figure, (left, right) = panels(10, 3.0, 1, 1)
    names = [f"label {letter}" for letter in "ABCDEFGH"]
    true = np.array([220, 208, 190, 150, 144, 90, 40, 12])
    noisy = true + np.array([-14, 9, 12, 6, -12, 8, -10, 11])
    order = np.argsort(-noisy)
    chosen = order[:3]
    left.barh(names, noisy, color=[BLUE if n in chosen else PALE for n in range(8)], height=0.62)
    _marks(left, true, names, "true count")
    left.invert_yaxis()
    left.set(title="The three largest noisy counts", xlabel="count plus noise, users")
    left.legend(loc="lower right", frameon=True, edgecolor=PALE)
    right.axis("off")
    right.set_title("What is released")
    for row, place in enumerate(chosen):
        right.text(0.02, 0.78 - 0.22 * row, f"{row + 1}.  {names[place]}", fontsize=13)
        right.text(
            0.6, 0.78 - 0.22 * row, f"{noisy[place]} (TopThreshold)", color=GRAY, fontsize=10
        )
    right.text(0.02, 0.02, "Noise may change the order\nof labels that are close.", color=GRAY)
    save(
        figure,
        "top-labels",
        "The labels with the largest noisy counts",
        "Eight labels with noisy counts. Those with the three largest noisy counts are released "
        "in their noisy order; B comes before A, although its true count is smaller.",
    )


def discover_labels() -> None:
    """A weight of 1 for each user, and what later looks do with it."""
    names = ["milk", "bread", "salt", "rice", "tea", "figs", "saffron", "quinoa"]
    chances = [0.98, 0.9, 0.3, 0.26, 0.22, 0.2, 0.04, 0.02]
    drawn = np.random.default_rng(4)
    rows = [
        (user, name)
        for user in range(600)
        for name, chance in zip(names, chances, strict=True)
        if drawn.random() < chance
    ]
    source = repeatable("discover")
    counts = dh.LabelCounts.from_table(
        pd.DataFrame(rows, columns=["user", "label"]),
        label="label",
        user="user",
        max_labels=8,
        keep_sets=True,
        source=source,
    )
    mechanism = dh.DiscoverLabels(epsilon="0.055", delta="1e-5", max_labels=8, looks=16)
    sets, looks = counts.sets, mechanism.looks
    if sets is None:
        raise ValueError("made without keep_sets=True")
    limit = mechanism.threshold
    sigma = UNIT * math.sqrt(looks) / float(mechanism.epsilon)
    totals = make_totals(sets)
    priorities = np.full(len(names), HIGHEST, np.int64)
    noisy = np.zeros(len(names), np.int64)
    first = totals(priorities)
    for look in range(1, looks + 1):
        noisy += totals(priorities) + rounded_gaussian(sigma, len(names), source)
        priorities = next_priorities(noisy, look, looks, sigma, int(limit * looks * UNIT))
    places = [sets.labels.to_pylist().index(name) for name in names]
    shared = first[places] / UNIT
    mean = noisy[places] / (looks * UNIT)
    figure, (left, right) = panels(10, 3.3, 1, 1)
    left.barh(names, shared, color=PALE, height=0.62)
    left.axvline(float(limit), color=ORANGE, label="threshold")
    left.invert_yaxis()
    left.set(title="First look: each user shares equally", xlabel="weight, users")
    left.legend(loc="lower right", frameon=True, edgecolor=PALE)
    right.barh(names, mean, color=[BLUE if each > limit else PALE for each in mean], height=0.62)
    _marks(right, shared, names, "first look")
    right.axvline(float(limit), color=ORANGE)
    right.invert_yaxis()
    right.set(title=f"Noisy mean of {looks} looks: released above", xlabel="weight, users")
    right.legend(loc="lower right", frameon=True, edgecolor=PALE)
    for axes in (left, right):
        axes.set_xlim(0, max(shared.max(), mean.max()) * 1.05)
    save(
        figure,
        "discover-labels",
        "Labels without counts",
        "On the left, the weight of eight labels if each user shares a weight of 1 equally: milk "
        "and bread have far more than the threshold, four labels are near it, two far below. On "
        "the right, the noisy mean of sixteen looks: weight has moved from milk and bread to the "
        "labels near the threshold; six labels are above it and are released without counts.",
    )


def pay_what_you_get() -> None:
    """Queries that ask for ten labels each, and what each is charged."""
    budget, asked = 30, 10
    session = dh.PayWhatYouGet(budget=budget, queries=4, epsilon="0.2", delta="1e-6")
    source = repeatable("pay")
    found, left_over = [], [budget]
    for common in (4, 7, 14):
        counts = [400 - 20 * place if place < common else 8 for place in range(30)]
        labels = [f"label {place:02}" for place in range(30)]
        table = pd.DataFrame({"label": labels, "count": counts})
        returned = session.top(table, k=asked, source=source).value.labels
        found.append([label is not None for label in returned])
        left_over.append(session.remaining)
    figure, (cells, rest) = panels(10, 2.9, 1.3, 1)
    for row, charged in enumerate(found):
        for place in range(asked):
            color = "white"
            if place < len(charged):
                color = BLUE if charged[place] else ORANGE
            cells.add_patch(
                Rectangle((place, row - 0.35), 0.9, 0.7, facecolor=color, edgecolor=GRAY)
            )
    for color, words in ((BLUE, "a label"), (ORANGE, "no more found"), ("white", "not charged")):
        cells.add_patch(Rectangle((0, 9), 1, 1, facecolor=color, edgecolor=GRAY, label=words))
    names = [f"query {row + 1}" for row in range(len(found))]
    cells.set(title="Each query asks for ten labels", xlim=(-0.1, asked), xticks=[])
    cells.set(ylim=(3.4, -0.6), yticks=range(len(found)), yticklabels=names)
    cells.spines[["left", "bottom"]].set_visible(False)
    cells.tick_params(length=0)
    cells.legend(loc="lower left", ncols=3, handlelength=1, columnspacing=1, borderpad=0)
    rest.barh(["before", *(f"after {row + 1}" for row in range(len(found)))], left_over, color=PALE)
    for row, number in enumerate(left_over):
        rest.text(number + 0.4, row, str(number), va="center", color=GRAY)
    rest.invert_yaxis()
    rest.set(title="Budget that is left", xlabel="labels", xlim=(0, budget + 3))
    save(
        figure,
        "pay-what-you-get",
        "Queries that are charged for what they return",
        "Three queries ask for ten labels each. The first returns four labels and a row that says "
        "that there are no more, and is charged 5; the second returns seven and such a row, and is "
        "charged 8; the third returns ten. Of a budget of 30, 7 are left.",
    )
