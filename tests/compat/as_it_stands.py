"""All blocks of the guide, unchanged: to be run by ``python -m tinygrad_edu.compat run``. Prints what has run."""

import os
import sys
import tempfile

import torch

sys.path.insert(0, os.path.dirname(__file__))
from contexts import GUIDE, names

os.chdir(tempfile.mkdtemp())  # some write files
for path in GUIDE:
    found = names(torch, path.name)
    torch.cuda.set_per_process_memory_fraction(0.005 if path.name.startswith("17") else 1.0)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), found)
    print("ran", path.name)
