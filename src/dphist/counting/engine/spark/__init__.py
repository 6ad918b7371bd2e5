"""Sessions of Spark: calls that a signal stops, their progress, and sessions that were stopped."""
