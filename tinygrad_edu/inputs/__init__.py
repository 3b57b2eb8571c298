"""What calls are given: numbers, lists, sizes, axes and dtypes, taken for what is meant, or refused in words."""
