"""Tests of histograms by group, beside what they cost."""
