"""The node's durable truth: an append-only log of signed changes in SQLite, and the view that follows from it."""
