"""From typed rows to counts of labels, and to anonymized histograms."""
