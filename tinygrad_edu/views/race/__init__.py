"""Two functions side by side on the clock."""
