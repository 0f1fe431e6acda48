"""How a client finds, starts and reaches a node. Knows no operation."""
