"""Reconciling with a language model: duplicates and contradictions, judged by a model of the user's own choice."""
