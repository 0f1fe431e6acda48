"""Knowledge derived from memories: rebuilt from the log at any time, never sent to peers."""
