"""Other libraries' names over this engine, for programs that were written for them.

`compat.torch` is PyTorch's module tree, `compat.mygrad` is MyGrad's. ``python -m tinygrad_edu.compat run script.py``
runs a PyTorch program as it stands.
"""
