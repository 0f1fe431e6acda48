"""Files of the projects that memories are about. Nothing is read outside the root of a project."""
