"""The section of docs/guides/audit.md that `make audit` writes."""

import dphist as dh
from benchmarks import everything_audited


def test_the_section_names_the_version_that_was_audited() -> None:
    def fair(flips: int) -> int:
        return flips

    found = dh.audit(fair, [(3, 3)], epsilon=1, seconds=0.1, layers=["statistical"])
    text = everything_audited.section([("fair", found)], 60)
    assert text.startswith(f"{everything_audited.HEADING}\n\nVersion {dh.__version__}, ")
    assert "of 1 claims 0 were refuted" in text
    assert everything_audited.row("fair", found) in text.splitlines()
    assert max(map(len, text.splitlines())) <= 100
