"""Commands on the node, its peers, and the agents and hosts that use it."""
