"""A binary tree of noisy counts that opens nodes where they are worth their cost."""
