"""Two runtimes for the same plain, synchronous, serial actor classes: `local`, a thread each; `ray`, a process each."""
