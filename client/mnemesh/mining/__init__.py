"""Transcript mining: decisions, fixes, rules and commands out of sessions of agents, by rules, and by a model where
the user names one."""
