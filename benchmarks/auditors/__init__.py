"""Audits of others beside ours, on the suite of broken mechanisms and their correct twins."""
