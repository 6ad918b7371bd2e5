"""How many accounts do so many guesses open? From how often passwords occur: curve and table.

    python examples/guessing_curve.py data/passwords_yahoo.csv OUTPUT_FOLDER

The file has columns count,prevalence: so many passwords are chosen by so many people each (CSV,
TSV or Parquet). No password is in it. It is released at epsilon 1, and everything after that is
computed from the release: OUTPUT_FOLDER gets `passwords.json`, the release; `guessing.csv`, guesses
and the share of accounts they open; and `guessing.svg`, the curve (--picture guessing.png names
another file and format).

An attacker who knows which passwords are the most frequent tries them in that order, at every
account. What he opens is lambda_beta of Bonneau ("The science of guessing", IEEE Symposium on
Security and Privacy 2012), whose 69 million Yahoo! accounts these are. Where passwords have fewer
than six accounts the curve is dashed: it holds for these accounts, but not for others, among whom
other rare passwords would be found.

What is protected is one account.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dphist as dh
from dphist.properties.guessing import compute_opened_share

POINTS = 400
FEW = 6  # accounts of a password, below which others would have other passwords
SHOWN = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("passwords", metavar="PASSWORDS", type=Path)
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--picture", default="guessing.svg", metavar="NAME.svg|NAME.png")
    chosen = parser.parse_args(arguments)
    if Path(chosen.picture).suffix not in (".svg", ".png"):
        parser.error("--picture must end in .svg or .png")
    try:
        release_passwords(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def release_passwords(chosen: argparse.Namespace) -> None:
    passwords = dh.Profile.read(chosen.passwords)
    release = dh.anonymize(passwords, epsilon=1)

    # From here on only the release is used, so all of it may be published.
    tries, opened = curve(release)
    try:
        chosen.folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise dh.OutputFileError(f"{chosen.folder} is no folder that can be written to") from None
    release.save(chosen.folder / "passwords.json")
    with (chosen.folder / "guessing.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["guesses", "share_opened"])
        table.writerows(zip(tries.tolist(), opened.tolist(), strict=True))
    draw(release, chosen.folder / chosen.picture)
    tell(release, chosen.folder, chosen.picture)


def curve(release: dh.Release) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of guesses, from one to all passwords, and the share of accounts they open."""
    passwords = max(release.value.labels, 1)
    tries = np.unique(np.geomspace(1, passwords, POINTS).round().astype(np.int64))
    # The end of what is sure is a point, so that the two parts of the curve meet there.
    sure = min(max(sure_guesses(release), 1), passwords)
    tries = np.union1d(tries, [sure])
    return tries, compute_opened_share(release.value, tries)


def sure_guesses(release: dh.Release) -> int:
    """How many passwords have enough accounts for others to have them about as often."""
    return int(release.value.cumulative_prevalences(FEW))


def draw(release: dh.Release, path: Path) -> None:
    tries, opened = curve(release)
    sure, percent = tries <= sure_guesses(release), 100 * opened
    rest = tries >= max(sure_guesses(release), 1)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.add_subplot()
    line = {"color": "#1f5fa8", "linewidth": 2}
    ax.semilogx(tries[sure], percent[sure], **line, label=f"passwords of {FEW} accounts or more")
    rarer = "rarer ones: for these accounts alone"
    ax.semilogx(tries[rest], percent[rest], **line, linestyle="--", label=rarer)
    ax.legend(loc="upper left", frameon=False, fontsize=9)
    ax.set_xlabel("guesses at each account")
    ax.set_ylabel("accounts opened (%)")
    ax.set_ylim(0, 100)
    ax.grid(color="#8a94a0", alpha=0.3)
    ax.set_title(f"Accounts opened by guessing; {release.guarantee}", fontsize=10)
    # Neither date nor random ids: the same release gives the same file.
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def tell(release: dh.Release, folder: Path, picture: str) -> None:
    """Print what was released. All of it may be published; the file and its counts may not."""
    print(f"Guarantee: {release.guarantee}, for one account")
    total, passwords = release.value.total, release.value.labels
    print(f"Accounts: about {total:,}, with about {passwords:,} passwords")
    for guesses in SHOWN:
        if guesses <= passwords:
            share = dh.properties.guessing(release.value, guesses=guesses)
            open_ = "guess opens " if guesses == 1 else "guesses open"
            print(f"{guesses:>12,} {open_} {share:7.2%} of the accounts")
    if passwords:
        half = dh.properties.guessing(release.value, share="1/2", measure="dictionary")
        bits = dh.properties.guessing(release.value, share="1/2", measure="dictionary", bits=True)
        print(f"Half of the accounts take {half:,.0f} guesses: as hard as {bits:.1f} random bits")
    print(f"About the same for other accounts: up to {sure_guesses(release):,} guesses")
    names = ("passwords.json", "guessing.csv", picture)
    print(f"Written: {', '.join(str(folder / name) for name in names)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
