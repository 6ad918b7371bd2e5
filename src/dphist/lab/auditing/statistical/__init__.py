"""The statistical layer: many runs on neighbors; half choose an event, half bound its odds."""
