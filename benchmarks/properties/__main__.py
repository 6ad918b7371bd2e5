"""Properties of a population, told from its profile, exact or released.

    python -m benchmarks.properties [--runs N] [--only PART ...] [--ask NAME ...]
        [--figure FOLDER]

Parts: "entropy", errors of its estimators; "words", unseen words of Hamlet and Shakespeare;
"new", new labels of further records, on all populations;
"constants", the same with other constants, chosen on all populations but three;
"noise", one release for all properties beside noise on each estimate; "coverage", how many
intervals hold the truth; "scales", the degree of Wu and Yang's polynomial. The figure
shows entropy and noise.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.properties import (
    chosen_constants,
    coverage,
    entropy_errors,
    figure,
    new_labels,
    noise_errors,
    scales,
    unseen_words,
)

PARTS = {
    "entropy": entropy_errors.RUNS,
    "words": unseen_words.RUNS,
    "new": new_labels.RUNS,
    "constants": chosen_constants.RUNS,
    "noise": noise_errors.RUNS,
    "coverage": coverage.RUNS,
    "scales": 1,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and draw."""
    description, _, more = (__doc__ or "").partition("\n")
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, epilog=more, formatter_class=form)
    add = parser.add_argument
    usual = ", ".join(f"{part} {runs}" for part, runs in PARTS.items())
    add("--runs", type=int, metavar="N", help=f"samples of each part; by default {usual}")
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="see below")
    add("--ask", nargs="+", metavar="NAME", help="properties of the part coverage; default: all")
    add("--figure", type=Path, metavar="FOLDER", help="where properties.png is to be written")
    chosen = parser.parse_args(arguments)
    if chosen.runs is not None and chosen.runs < 1:
        parser.error("--runs must be at least 1")
    asked = coverage.questions(chosen.ask)
    if not asked:
        parser.error("--ask must name properties of the part coverage, such as guessing")
    if chosen.figure is not None and not {"entropy", "noise"} <= set(chosen.only):
        parser.error("--figure needs the parts entropy and noise")
    errors, noises = None, None
    for part, usual_runs in PARTS.items():
        if part not in chosen.only:
            continue
        print(f"\n## {part}\n", flush=True)
        runs = chosen.runs or usual_runs
        if part == "entropy":
            errors = entropy_errors.measure(runs)
            entropy_errors.print_errors(errors, runs)
            entropy_errors.print_without_limit(runs)
        elif part == "words":
            unseen_words.print_words(runs)
        elif part == "new":
            new_labels.print_new_labels(runs)
        elif part == "constants":
            chosen_constants.print_choices(runs)
        elif part == "noise":
            noises = noise_errors.measure(runs)
            noise_errors.print_errors(noises, runs)
            noise_errors.print_sensitivities(runs)
        elif part == "scales":
            scales.print_scales()
        else:
            coverage.print_coverage(coverage.measure(runs, asked), runs, asked)
    if chosen.figure is not None and errors is not None and noises is not None:
        chosen.figure.mkdir(parents=True, exist_ok=True)
        figure.draw(chosen.figure / "properties.png", errors, noises)


if __name__ == "__main__":
    main()
