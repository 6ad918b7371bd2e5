"""`test_conformance.py` runs in processes of its own, started by `test_sessions.py` or by hand."""

collect_ignore = ["test_conformance.py"]
