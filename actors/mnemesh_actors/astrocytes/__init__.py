"""Astrocytes: the workers that plan consolidation, one thread here or processes on Ray."""
