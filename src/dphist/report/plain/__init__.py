"""Reports of labels and running counts by mechanisms that have no more than the protocol."""
