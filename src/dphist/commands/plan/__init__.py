"""dphist plan: what a release would cost and be worth, before any data are read."""
