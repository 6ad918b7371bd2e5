"""Surfaces: each shows a document as a page, text, a card, JSON or SVG, and knows no kind."""
