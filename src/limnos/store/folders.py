"""Folders of limnos's own state: nobody else may look into them."""

from pathlib import Path


def private_folder(path: Path) -> None:
    """Make `path` and what is missing above it, each for its owner alone. Raises OSError."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(exist_ok=True)
