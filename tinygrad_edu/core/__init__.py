"""The engine. Read it as `storage`, `op`, `graph`, `dispatch`, `slow`, `narrow`, `inplace`, `guard`, `base`."""
