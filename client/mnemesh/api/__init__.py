"""The client as a library: a class with a method for each operation of a node."""
