"""Looks at the Git repository in the folder that a call works in, and commits to it."""
