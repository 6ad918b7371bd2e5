"""Figures of labels: a threshold and its delta, and the largest counts."""

import math

import numpy as np
from style import BLUE, GRAY, ORANGE, PALE, panels, save


def threshold() -> None:
    """Noisy counts above a threshold, and the chance that a label of one user is released."""
    figure, (left, right) = panels(10, 3.3, 1.2, 1)
    names = ["aspirin", "ibuprofen", "insulin", "zinc", "iron", "a rare drug", "a drug of one user"]
    true = np.array([240, 205, 150, 96, 60, 9, 1])
    noisy = true + np.array([8, -11, 14, -9, 12, -15, 10])
    limit = 75
    colors = [BLUE if each > limit else PALE for each in noisy]
    left.barh(names, noisy, color=colors, height=0.62)
    left.plot(true, names, "|", color=GRAY, markersize=14, label="true count")
    left.axvline(limit, color=ORANGE, label="threshold")
    left.invert_yaxis()
    left.set(title="Released: labels above the threshold", xlabel="noisy count, users")
    left.legend(loc="lower right")
    scale = 16.0
    at = np.linspace(-60, 110, 400)
    density = np.exp(-(((at - 1) / scale) ** 2) / 2) / scale / math.sqrt(2 * math.pi)
    right.plot(at, density, color=BLUE)
    tail = at >= limit * 0.55
    right.fill_between(at[tail], density[tail], color=ORANGE)
    right.axvline(limit * 0.55, color=ORANGE)
    right.annotate(
        "at most δ",
        (limit * 0.55 + 5, density[tail][0] * 0.5),
        (70, density.max() * 0.4),
        arrowprops={"arrowstyle": "-", "color": GRAY},
    )
    right.set(title="Noisy count of a label of one user", xlabel="noisy count, users", yticks=[])
    right.text(limit * 0.55 + 2, density.max() * 0.92, "threshold", color=ORANGE)
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
    left.plot(true, names, "|", color=GRAY, markersize=12, label="true count")
    left.invert_yaxis()
    left.set(title="The three largest noisy counts", xlabel="count plus noise, users")
    left.legend(loc="lower right")
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
