"""The rules that class a sentence by its words alone."""
