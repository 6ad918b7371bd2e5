"""Files that run in processes of their own, started by `test_sessions.py` or by hand."""

collect_ignore = ["test_conformance.py", "test_losses.py"]
