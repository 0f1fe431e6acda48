"""Views of a whole space: its story in order of time, its topics at several scales, and its open points."""
