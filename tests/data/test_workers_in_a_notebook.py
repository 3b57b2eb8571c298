"""Worker processes with a data set and a collate function that are defined in the cells of a notebook."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

DEFINED = """
import numpy as np
from tinygrad_edu.data import DataLoader, get_worker_info

class Squares:
    def __len__(self):
        return 6

    def __getitem__(self, number):
        if number == broken:
            raise ValueError(f"no square of {number}")
        return np.float32(number) ** 2, get_worker_info().id

def joined(samples):
    return [int(value) for value, _ in samples], [worker for _, worker in samples]
broken = -1
"""
READ = "print([batch for batch in DataLoader(Squares(), 2, num_workers=2, collate_fn=joined)])"
FAIL = """
broken = 3
try:
    list(DataLoader(Squares(), 2, num_workers=2, collate_fn=joined))
except ValueError as error:
    print(error, error.__cause__)
"""


def test_classes_and_functions_of_cells_reach_the_workers_and_tracebacks_show_the_cell() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (DEFINED, READ, FAIL)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    told = ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells]
    assert told[1] == "[([0, 1], [0, 0]), ([4, 9], [1, 1]), ([16, 25], [0, 0])]\n"
    assert "no square of 3" in told[2] and "in worker 1 of the loader" in told[2]
    assert "in __getitem__" in told[2] and 'raise ValueError(f"no square of {number}")' in told[2]
    assert "ipykernel_" not in told[2], "a cell has a name"
