"""MCP on standard input and output, passed on to the node."""
