"""What goes in: counts that carry the privacy unit and the bounds they were made with."""
