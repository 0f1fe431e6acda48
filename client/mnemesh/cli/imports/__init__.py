"""The commands that read files, with their state and reports."""
