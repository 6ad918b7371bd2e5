"""PrivHist (Suresh 2019)."""
