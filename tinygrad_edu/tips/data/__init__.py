"""Loading: who reads, how far ahead, and who waits."""
