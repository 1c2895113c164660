"""Reads and changes text files of the folder that a call works in."""
