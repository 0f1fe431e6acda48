"""Two runtimes for the same plain, synchronous, serial actor classes: `local` (a thread each) and `ray` (a process each)."""
