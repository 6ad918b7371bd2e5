"""Engines that hold rows; their messages about data are never shown."""
