"""Mnemesh in the settings of agent hosts, and taken out again."""
