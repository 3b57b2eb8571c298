"""Who competes: each file makes the ten workloads run in one library, or in several that share a style."""
