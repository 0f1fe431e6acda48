"""The class of a sentence by its words alone."""
