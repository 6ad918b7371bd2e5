"""The adaptive scan of a Ferrers diagram, and its decoding."""
