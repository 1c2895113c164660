"""Runs the command lines that limnos has prepared, in the sandbox, and keeps background jobs."""
