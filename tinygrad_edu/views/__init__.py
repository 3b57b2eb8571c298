"""What the widgets show, without Jupyter: engine objects become plain data, text, HTML and SVG by pure functions."""
