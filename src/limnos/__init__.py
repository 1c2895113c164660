"""limnos: a self-hosted agent that you can leave running."""

__version__ = "0.1.0"
