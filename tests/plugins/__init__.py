"""Plugins: what they declare, in which order they start, how they come in."""
