"""From a list of edges to a private degree sequence: a saved release and an HTML report.

    python examples/degree_sequence.py EDGES.csv.gz OUTPUT_FOLDER

EDGES is a file of one row an edge (CSV or TSV, also .gz or .zst, or Parquet) with the nodes
it joins in the columns `u` and `v`; --source and --target name others. The release costs
epsilon 1. `degrees.json` and `degrees.html` are written to OUTPUT_FOLDER.

What is protected is one edge, not one node. An edge is counted at both the nodes it joins,
so that its coming or going changes two cells of the histogram of degrees, and the noise is
made for two. The file must therefore hold each edge once, as (u, v) or as (v, u), not both.

With --directed only the edges that leave a node are counted: one cell an edge, and half the
noise. For the edges that arrive, swap the columns.
"""

import argparse
import sys
from pathlib import Path

import dphist as dh


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("edges", metavar="EDGES", type=Path)
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--source", default="u", metavar="COLUMN")
    parser.add_argument("--target", default="v", metavar="COLUMN")
    parser.add_argument("--directed", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        release_degrees(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def release_degrees(chosen: argparse.Namespace) -> None:
    degrees = dh.Profile.from_edges(
        chosen.edges, source=chosen.source, target=chosen.target, directed=chosen.directed
    )
    # The profile knows how many cells an edge changes, and the mechanism takes it from there.
    release = dh.anonymize(degrees, epsilon=1)

    chosen.folder.mkdir(parents=True, exist_ok=True)
    release.save(chosen.folder / "degrees.json")
    dh.write_report(release, chosen.folder / "degrees.html")
    tell(release, chosen.folder)


def tell(release: dh.Release, folder: Path) -> None:
    """Print what was released. All of it may be published; the edges and `degrees` may not."""
    cells = release.mechanism.sensitivity
    changes = "1 cell" if cells == 1 else f"{cells} cells"
    print(f"Guarantee: {release.guarantee}, for one edge, at most {changes} of the histogram")
    released = release.value
    print(f"Edges: about {release.total / cells:,.0f}")
    print(f"Nodes with an edge: about {released.labels:,}")
    if released.labels:
        print(f"Nodes with a single edge: about {released.labels - at_least(released, 2):,}")
        print(f"Largest degree: about {released.counts[-1]:,}")
    print(f"Written: {folder / 'degrees.json'}, {folder / 'degrees.html'}")


def at_least(degrees: dh.AnonymizedHistogram, least: int) -> int:
    """How many nodes have this degree or more."""
    return int(degrees.cumulative_prevalences(least))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
