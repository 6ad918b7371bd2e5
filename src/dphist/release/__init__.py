"""What comes out: released values, and releases that are saved and loaded."""
