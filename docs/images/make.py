"""Make the pictures of releases: the Yahoo password list, and names of pets by species, epsilon 1.

    python docs/images/make.py

The password list has been public since Blocki, Datta and Bonneau released it in 2016, with
differential privacy. Each run draws new noise, so the picture differs a little every time.
"""

from pathlib import Path

import pandas as pd

import dphist

HERE = Path(__file__).resolve().parent
NARROW = (4, 5.8)  # inches: text is larger beside a smaller picture


DATA = HERE.parents[1] / "data"
SPECIES = {"at home": ["Dog", "Cat"], "on farms": ["Goat", "Pig", "Horse"]}


def main() -> None:
    """Write the pictures beside this script, each also as `NAME-narrow.png` for a phone."""
    profile = dphist.Profile.read(DATA / "passwords_yahoo.csv")
    draw(dphist.anonymize(profile, epsilon=1), "release")
    pets = pd.read_parquet(DATA / "pets_seattle.parquet").dropna(subset=["animal_name"])
    counted = dphist.RegionalProfile.from_table(
        pets, label="animal_name", region="species", regions=SPECIES
    )
    draw(dphist.RegionalProfiles(epsilon=1, regions=SPECIES).release(counted), "regions")


def draw(release: dphist.Release, picture: str) -> None:
    """Write a picture of a release, wide and narrow."""
    for name, columns in ((picture, 2), (f"{picture}-narrow", 1)):
        figure = dphist.plot(release, columns=columns)[0].figure
        if columns == 1:
            figure.set_size_inches(NARROW)
        figure.savefig(HERE / f"{name}.png", dpi=150, facecolor="white")


if __name__ == "__main__":
    main()
