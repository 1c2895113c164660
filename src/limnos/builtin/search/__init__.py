"""Finds files and text in the folder that a call works in."""
