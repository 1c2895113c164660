"""Stops inputs that come too fast."""
