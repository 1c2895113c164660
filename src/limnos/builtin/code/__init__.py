"""Runs Python and Node code that can change nothing and send nothing."""
