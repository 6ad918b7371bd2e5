"""Planning: what a release would cost and be worth, computed before any data are read."""
