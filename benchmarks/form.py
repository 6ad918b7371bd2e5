"""Write the numbers that the page of `dphist form` shows, which the package holds."""

import json
from pathlib import Path

import dphist
from dphist.commands.form.numbers import compute_numbers
from dphist.commands.form.questions import ASKED

PATH = Path(dphist.__file__).parent / "commands" / "form" / "numbers.json"


def main() -> None:
    """Compute all numbers, one kind after the other, and write them with a line for each kind."""
    lines = []
    for asked in ASKED:
        held = json.dumps(compute_numbers(asked), separators=(",", ":"))
        lines.append(f"{json.dumps(asked.kind)}: {held}")
        print(f"{asked.kind}: {len(held):,} letters", flush=True)
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
