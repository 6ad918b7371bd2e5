"""The parts of the comparison of mechanisms: what is compared, measured, kept and drawn."""
