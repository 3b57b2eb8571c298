"""Loops: what happens around each step of training, and around each request."""
