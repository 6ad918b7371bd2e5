"""The audit of dphist on mechanisms of other libraries, each under a Python of its own."""
