"""Tips on the autograd graph and its memory."""
