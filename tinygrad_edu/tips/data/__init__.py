"""Tips of this theme, one in each file."""
