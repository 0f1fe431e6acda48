"""The transcripts of a node: one SQLite file beside the ledger. No recall reads it, and it knows no memory."""
