"""Rows of users in arrays: put into parts by user, and those beyond a bound found in each part."""
