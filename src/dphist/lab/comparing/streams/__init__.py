"""Running counts compared: errors at several times of a stream."""
