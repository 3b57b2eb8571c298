"""Precision: which dtypes, and what they cost."""
