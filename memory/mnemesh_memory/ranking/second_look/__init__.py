"""Optional signals, a file each: they look again at the best memories of an answer."""
