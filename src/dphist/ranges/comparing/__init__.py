"""Histograms over ordered bins compared: errors of ranges."""
