"""Bridges to other libraries, which account for releases of dphist beside their own."""
