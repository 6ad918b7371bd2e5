"""Reports of histograms over ordered bins."""
