"""The commands `dphist labels` and `dphist top`."""
