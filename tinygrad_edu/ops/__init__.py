"""Every operation, one class each: ``forward`` above ``backward``, written once for all worlds."""
