"""Anonymized histograms compared: sorted L1 error."""
