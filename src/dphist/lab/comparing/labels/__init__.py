"""Labels and their counts compared: labels found, and errors of counts."""
