"""What became of each change: a file of JSON lines, which a later run continues."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mutants.at_random.changes import Change

Verdict = Literal["caught", "endless", "survived", "not run"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change.

    Attributes
    ----------
    every : whether all tests that run the line were asked, or the quickest alone.
    verdict : "caught" if a test failed, "endless" if the quickest tests did not end, "survived" if
        all passed that could be run in the time, "not run" if no test runs the line.
    tests : how many tests were asked; a function with several cases is one of them.
    by : the test that failed first, and with what.
    """

    change: Change
    every: bool
    verdict: Verdict
    tests: int
    seconds: float
    by: str

    def __str__(self) -> str:
        """The outcome in one line."""
        stage = "every" if self.every else "quick"
        return f"{self.verdict:8} {stage} {self.seconds:5.1f} s  {self.change}  {self.by}"


class Results:
    """The outcomes of the changes of one seed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._held: dict[tuple[Change, bool], Outcome] = {}
        if file.exists():
            # A run that was killed may have left half a line; its change is run again.
            whole, _, _ = file.read_text().rpartition("\n")
            file.write_text(f"{whole}\n" if whole else "")
            for line in whole.splitlines():
                entry = json.loads(line)
                self._hold(Outcome(Change(**entry.pop("change")), **entry))

    def add(self, outcome: Outcome) -> None:
        """Hold an outcome, and write it to the file."""
        with self._file.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        self._hold(outcome)

    def find(self, change: Change, every: bool) -> Outcome | None:
        """Return the outcome of a change with all or with the quickest tests, if it was run."""
        return self._held.get((change, every))

    def last(self, change: Change) -> Outcome | None:
        """Return the last outcome of a change."""
        return self.find(change, every=True) or self.find(change, every=False)

    def _hold(self, outcome: Outcome) -> None:
        self._held[outcome.change, outcome.every] = outcome
