"""Noise of running counts: its design, its law and its draws."""
