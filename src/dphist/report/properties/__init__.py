"""Reports of estimated properties of the population."""
