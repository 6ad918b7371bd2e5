"""The comparison of universal histograms: data, contenders, errors, results kept, tables."""
