"""What hooks keep of a session, and hand to the node."""
