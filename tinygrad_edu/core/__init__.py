"""The engine. Read in this order: `storage`, `op`, `graph`, `dispatch`, `inplace`, `guard`, `base`."""
