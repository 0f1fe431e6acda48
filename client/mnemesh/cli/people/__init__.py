"""Values in words for people at a terminal."""
