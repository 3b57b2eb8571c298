"""Arrays: views, copies, layout."""
