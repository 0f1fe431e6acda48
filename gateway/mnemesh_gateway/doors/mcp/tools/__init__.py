"""The tools that a host shows to a model: their names, fields, words and sets."""
