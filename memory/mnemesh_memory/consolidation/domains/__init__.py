"""The domains of the astrocytes, one file each, and their table."""
