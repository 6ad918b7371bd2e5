"""What a stream remembers, in memory and in its file."""
