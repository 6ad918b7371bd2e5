"""A mechanism of another library, and the program that runs it: a line of JSON for each run.

No other module of dphist is imported here: the libraries need other versions of what it needs.
"""

import importlib.metadata
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Pair = tuple[str, Any, Any]


@dataclass(frozen=True)
class Case:
    """A mechanism, its claim, and neighbors.

    Attributes
    ----------
    run : takes data, returns what is released.
    claim : returns (epsilon, delta) as the library states them for these neighbors.
    pairs : (name, one, other), data as JSON has them.
    says : what is special about it.
    """

    run: Callable[[Any], Any]
    claim: Callable[[], tuple[float, float]]
    pairs: Sequence[Pair]
    says: str


def serve(package: str, cases: dict[str, Case]) -> None:
    """Answer as the arguments ask: a list of names, what a case is, or a run for each line."""
    if len(sys.argv) == 1:
        print(json.dumps(list(cases)))
        return
    case = cases[sys.argv[1]]
    if sys.argv[2:] == ["about"]:
        epsilon, delta = case.claim()
        version = f"{package} {importlib.metadata.version(package)}"
        about = {"epsilon": epsilon, "delta": delta, "pairs": case.pairs, "says": case.says}
        print(json.dumps(about | {"version": version}))
        return
    for line in sys.stdin:
        try:
            shown = case.run(json.loads(line))
        except Exception as error:  # whatever it is, it is shown
            shown = {"error": f"{type(error).__name__}: {error}"}
        sys.stderr.flush()
        print(json.dumps(shown, default=_plain), flush=True)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
