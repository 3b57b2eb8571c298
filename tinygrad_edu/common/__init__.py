"""What every floor uses and none is about: the user's line, words for errors, blocks that end for certain."""
