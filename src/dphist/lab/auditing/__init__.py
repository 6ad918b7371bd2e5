"""Auditing: does a mechanism keep the guarantee that it claims? Run it on neighbors and compare."""
