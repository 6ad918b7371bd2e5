"""Universal histograms: how many records lie in any range of an ordered domain."""
