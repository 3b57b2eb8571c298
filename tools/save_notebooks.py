"""Run the notebooks and save them as they are committed: fresh outputs, and nothing that only a kernel can show.

    python tools/save_notebooks.py [notebooks/welcome.ipynb …]

A widget's live view needs a kernel. What is saved is its picture and its text, which read well without one. A cell
tagged ``no-saved-output`` is saved empty: its output would give a prediction away.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
LIVE_VIEW = "application/vnd.jupyter.widget-view+json"


def tidy(notebook: Any) -> Any:
    """Remove what only a running kernel can show, and what differs between two equal runs."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "no-saved-output" in cell.metadata.get("tags", []):
            cell.outputs = []
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(LIVE_VIEW, None)
            output.get("metadata", {}).pop(LIVE_VIEW, None)
    return notebook


def save(path: Path) -> None:
    """Execute one notebook from top to bottom and write it back."""
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, resources=place, coalesce_streams=True).execute()
    nbformat.write(tidy(notebook), path)


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "notebooks").glob("*.ipynb")):
        print(f"running {path.name}")
        save(path)
