"""The tips as a front door."""
