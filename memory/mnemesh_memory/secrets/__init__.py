"""Credentials in text: finding and masking them."""

from mnemesh_memory.secrets.detector import find_secret as find_secret
