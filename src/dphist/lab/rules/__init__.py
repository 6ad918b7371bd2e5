"""Disclosure rules, such as "suppress below 10", tested on the very table that they are to protect.

A table of counts is read, the rule is applied to it, and what a reader can compute from everything
that would be published is found by linear programs. See `docs/guides/rules.md`.
"""
