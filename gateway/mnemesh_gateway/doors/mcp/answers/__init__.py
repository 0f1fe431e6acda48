"""The answers of tools, as text and as structure."""
