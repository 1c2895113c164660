"""Hides secrets in results of tools and in answers."""
