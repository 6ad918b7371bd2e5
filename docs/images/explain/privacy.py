"""Figures of the guarantee itself: two tables, bounds on users, error against epsilon."""

import math

import numpy as np
from style import BLUE, GRAY, GREEN, ORANGE, PALE, panels, save


def two_tables() -> None:
    """What is released from two tables that differ by one record."""
    figure, (left, right) = panels(9, 3.1, 1, 1)
    values = np.arange(88, 114)
    for axes, epsilon in ((left, 1.0), (right, 0.2)):
        scale = math.tanh(epsilon / 2)
        with_record, without = (
            scale * np.exp(-epsilon * np.abs(values - true)) for true in (101, 100)
        )
        axes.bar(values - 0.2, 100 * without, 0.4, color=BLUE, label="true count 100")
        axes.bar(values + 0.2, 100 * with_record, 0.4, color=ORANGE, label="true count 101")
        axes.set(title=f"ε = {epsilon:g}", xlabel="released count", ylabel="chance, %")
        axes.set_ylim(0, 60)
    left.legend(loc="upper left", borderpad=0)
    left.annotate(
        "e = 2.7 times as likely\nwith the record",
        (101.3, 46),
        (103, 50),
        arrowprops={"arrowstyle": "-", "color": GRAY},
        color=GRAY,
    )
    right.annotate(
        "1.2 times as likely",
        (101.3, 10),
        (101, 22),
        arrowprops={"arrowstyle": "-", "color": GRAY},
        color=GRAY,
    )
    save(
        figure,
        "two-tables",
        "The chances of each released count, with and without one record",
        "Two bar charts. With epsilon 1 the chances of each released count for true counts 100 and "
        "101 differ by a factor of at most 2.7; with epsilon 0.2 by at most 1.2, and the noise is "
        "wider.",
    )


def bounding() -> None:
    """Rows of users; each user keeps two labels."""
    figure, (left, right) = panels(9, 3.0, 1.5, 1)
    users = {
        "user 1": ("aspirin", "zinc"),
        "user 2": ("aspirin",),
        "user 3": ("aspirin", "iron", "zinc", "insulin", "codeine"),
        "user 4": ("zinc", "iron"),
    }
    kept = {"user 3": ("aspirin", "insulin")}
    for row, (user, drugs) in enumerate(users.items()):
        left.text(-0.1, -row, user, ha="right", va="center")
        for place, drug in enumerate(drugs):
            stays = drug in kept.get(user, drugs)
            left.text(
                place + 0.5,
                -row,
                drug,
                ha="center",
                va="center",
                color="white" if stays else GRAY,
                bbox={
                    "boxstyle": "round,pad=.35",
                    "facecolor": BLUE if stays else PALE,
                    "edgecolor": "none",
                },
            )
    left.set(title="max_labels = 2: each user keeps two labels", xlim=(-1, 5.1), ylim=(-3.6, 0.6))
    left.axis("off")
    counts = {"aspirin": 3, "zinc": 2, "iron": 1, "insulin": 1}
    right.barh(list(counts), list(counts.values()), color=BLUE, height=0.6)
    right.invert_yaxis()
    right.set(title="Counts of what is kept", xlabel="users")
    right.set_xticks(range(4))
    save(
        figure,
        "bounding",
        "Bounding what a user adds",
        "Four users with one to five labels each. The user with five labels keeps two of them, "
        "chosen at random; the others keep all. The counts on the right are of the labels kept, so "
        "that one user changes at most two counts, each by one.",
    )


def error_and_epsilon() -> None:
    """How large noise is for several epsilon, and what that means for small and large counts."""
    figure, (left, right) = panels(9, 3.0, 1, 1)
    epsilons = np.geomspace(0.01, 4, 60)
    noise = np.sqrt(2 * np.exp(-epsilons)) / (1 - np.exp(-epsilons))
    left.loglog(epsilons, noise, color=BLUE)
    left.set(title="Noise on one count", xlabel="ε", ylabel="standard deviation, records")
    for count, color in ((100, ORANGE), (10_000, BLUE), (1_000_000, GREEN)):
        right.loglog(epsilons, 100 * noise / count, color=color, label=f"{count:,} records")
    right.axhline(1, color=GRAY, linewidth=0.8, linestyle=":")
    right.set(title="The same, in percent of the count", xlabel="ε", ylabel="%")
    right.set_ylim(bottom=2e-8)
    right.legend(loc="lower left")
    save(
        figure,
        "error-and-epsilon",
        "Noise against epsilon",
        "The standard deviation of the noise is about 1.4 divided by epsilon: 140 records at "
        "epsilon 0.01 and 0.2 records at epsilon 4. A count of a million is known within a tenth "
        "of a percent at all of these; a count of a hundred only for epsilon above 1.",
    )
