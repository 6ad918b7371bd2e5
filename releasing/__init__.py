"""What a version must pass before it is published: `python -m releasing`."""
