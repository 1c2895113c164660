"""Keeps terminals open in the sandbox, for programs that ask back."""
