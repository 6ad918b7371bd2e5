"""Reports of label counts and rankings."""
