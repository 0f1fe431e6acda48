"""Transcript mining: decisions, fixes, rules and commands out of sessions of agents, by rules. No model is asked."""
