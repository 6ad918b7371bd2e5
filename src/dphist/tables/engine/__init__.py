"""Engines that hold rows, run so that none of their messages about data get out."""
