"""Commands on memories: written, read, their past, rules and triggers, what is derived from them."""
