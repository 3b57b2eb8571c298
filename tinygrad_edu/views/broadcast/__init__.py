"""Broadcasting both ways, drawn and in words."""
