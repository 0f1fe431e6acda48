"""Consolidation: what sleep makes of the memories of a space. Plans only, values in and values out."""
