"""Sleep: consolidation of spaces on demand and while the node idles, its record of runs, and their undoing."""
