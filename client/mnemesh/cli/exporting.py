"""x"""

COMMANDS = ()
