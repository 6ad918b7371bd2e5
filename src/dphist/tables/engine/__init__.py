"""Engines that hold rows, run so that nothing they say about the data gets out."""
