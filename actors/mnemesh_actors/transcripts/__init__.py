"""The transcripts of a node: one SQLite file beside the ledger, which no recall reads and which reads no memory."""
