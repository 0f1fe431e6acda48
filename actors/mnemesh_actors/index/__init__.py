"""The retrieval index: one small port, two Qdrant backends behind it. Derived from the ledger, always rebuildable."""
