"""The command `dphist form`: a page on which a release is described, with its numbers."""
