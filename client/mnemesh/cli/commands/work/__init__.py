"""Commands on the work of agents: how it begins, what it leaves, and the rules for it."""
