"""Compute: the same numbers with less arithmetic, fewer bytes, or on more cores."""
