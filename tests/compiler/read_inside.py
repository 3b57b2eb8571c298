"""A module that a function imports when it runs."""

FACTOR = 2.0
