"""Model: which layers there are, where they are kept, and what they cost."""
