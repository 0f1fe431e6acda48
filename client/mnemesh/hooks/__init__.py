"""Mnemesh inside the hosts of agents: their settings files, and the answers to their events."""
