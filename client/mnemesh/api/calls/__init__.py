"""The operations by capability: each function builds the Call that asks a node for it."""
