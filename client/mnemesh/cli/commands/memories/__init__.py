"""Commands on memories: written, read, their past, what is derived from them."""
