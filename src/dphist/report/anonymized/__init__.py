"""Reports of anonymized histograms."""
