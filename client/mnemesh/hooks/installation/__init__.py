"""Mnemesh in the settings of agent hosts and among the services of the user's system, and taken out again."""
