"""The commands, a module for each subject. `COMMANDS` of a module names them."""
