"""A kind that dphist does not have, added without an edit in src/."""
