"""The knowledge graph: entities and relations that texts name, and how near entities are. Values in, values out."""
