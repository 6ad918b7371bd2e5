"""Labels found without counts, beside methods of others."""
