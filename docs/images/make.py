"""Make the README's picture: the Yahoo password list, released at epsilon 1.

    python docs/images/make.py

The list has been public since Blocki, Datta and Bonneau released it in 2016, with
differential privacy. Each run draws new noise, so the picture differs a little every time.
"""

from pathlib import Path

import dphist

HERE = Path(__file__).resolve().parent
NARROW = (4, 5.8)  # inches: text is larger beside a smaller picture


def main() -> None:
    """Write `release.png` beside this script, and `release-narrow.png` for a phone."""
    profile = dphist.Profile.read(HERE.parents[1] / "data" / "passwords_yahoo.csv")
    release = dphist.anonymize(profile, epsilon=1)
    for name, columns in (("release", 2), ("release-narrow", 1)):
        figure = dphist.plot(release, columns=columns)[0].figure
        if columns == 1:
            figure.set_size_inches(NARROW)
        figure.savefig(HERE / f"{name}.png", dpi=150, facecolor="white")


if __name__ == "__main__":
    main()
