"""Tells how this machine does."""
