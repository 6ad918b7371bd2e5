"""Check all proofs with Coq, and write down what was checked: `make proofs`.

Ends with 1 if a file is not accepted, a theorem rests on an axiom, or a proof is left out.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from formal import CHECKED, FILES, FOLDER, THEOREMS, hash_files

_CLOSED = "Closed under the global context"
_LEFT_OUT = re.compile(r"\b(Admitted|Abort|Axioms?|Parameters?|Conjecture|admit|Admit)\b")
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)


class CheckError(Exception):
    """A proof that is not accepted, and why."""


def main() -> int:
    """Check the files in a folder of their own, and record them."""
    try:
        with tempfile.TemporaryDirectory(prefix="dphist-formal-") as folder:
            written = _check(Path(folder))
    except CheckError as error:
        print(error, file=sys.stderr)
        return 1
    CHECKED.write_text(written)
    number = sum(map(len, THEOREMS.values()))
    print(f"{len(FILES)} files and {number} theorems are accepted; no theorem rests on an axiom")
    return 0


def _check(folder: Path) -> str:
    """Return the record of a check of all files, copied to a folder."""
    printed = {}
    for name in FILES:
        path = folder / f"{name}.v"
        shutil.copy(FOLDER / path.name, path)
        if found := _LEFT_OUT.search(_COMMENT.sub("", path.read_text())):
            raise CheckError(f"{path.name} has {found[0]}: each statement needs its proof")
        printed[name] = _run(folder, path)
    asked = folder / "assumptions.v"
    modules = " ".join(THEOREMS)
    names = [f"{file}.{theorem}" for file, theorems in THEOREMS.items() for theorem in theorems]
    lines = [f"From dphist_formal Require {modules}."]
    lines += [f"Print Assumptions {name}." for name in names]
    asked.write_text("\n".join(lines) + "\n")
    said = _run(folder, asked).strip().splitlines()
    if said != [_CLOSED] * len(names):
        raise CheckError("a theorem rests on more than the logic of Coq:\n" + "\n".join(said))
    record = {
        "coq": _run_command(["coqc", "--print-version"], folder).split()[0],
        "files": hash_files(),
        "assumptions": dict.fromkeys(names, _CLOSED),
        "examples": _read_examples(printed["examples"]),
    }
    return json.dumps(record, indent=1) + "\n"


def _run(folder: Path, path: Path) -> str:
    return _run_command(["coqc", "-w", "none", "-Q", ".", "dphist_formal", path.name], folder)


def _run_command(command: list[str], folder: Path) -> str:
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if found.returncode:
        raise CheckError(f"{command[-1]} is not accepted:\n{found.stdout}{found.stderr}")
    return found.stdout


def _read_examples(printed: str) -> dict[str, object]:
    """Return what Coq computed, by name: a text, then nested lists of whole numbers."""
    found = {}
    for name, value in re.findall(r'= \("(\w+)"%string,\s*(.*?)\)\s*:\s', printed, re.DOTALL):
        text = re.sub(r"%Z|\s", "", value).replace("[::", "[").replace(";", ",")
        found[name] = json.loads(text.replace("(", "").replace(")", ""))
    if not found:
        raise CheckError("examples.v prints nothing that can be read")
    return found


if __name__ == "__main__":
    sys.exit(main())
