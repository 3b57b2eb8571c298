"""What users pass in: numbers, lists, sizes, axes and dtypes, converted to what is meant or refused in words."""
