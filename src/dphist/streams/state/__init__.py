"""The state of a stream, in memory and in its file."""
