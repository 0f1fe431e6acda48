"""The command line: words in, one call of the Client, lines or one JSON object out. Decides nothing about memories."""
