"""Releases that a configuration file asks for."""
