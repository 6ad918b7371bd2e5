"""What a release discloses of itself: for its page, and for the public registry of deployments."""
