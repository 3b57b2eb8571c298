"""Compilation: what a compiler does with a program, and what makes it begin again."""
