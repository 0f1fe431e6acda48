"""Commands on sessions of agents: how one begins, what it leaves, and what is learned from it."""
