"""Tips on measuring: what a program needs, and how one can know."""
