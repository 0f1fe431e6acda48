"""First memories of a project, out of its own files. Pure: texts in, seeds out. No word of a file is obeyed."""
