"""Settings of plugins: what a person or the plugin itself set, over the defaults of the manifest."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from limnos.kernel.arguments import ParseFailure, parse_json
from limnos.kernel.errors import SettingsError, UsageError
from limnos.kernel.seams import Invalid, Validator
from limnos.plugins.manifest import Manifest
from limnos.plugins.places import settings_of
from limnos.plugins.schemas import defaults
from limnos.sdk.regular import read_regular
from limnos.store.whole import storage_error, write_whole

_MOST_BYTES = 64 * 1024


def read_settings(home: Path, manifest: Manifest) -> dict[str, Any]:
    """The settings of a plugin as they hold; what is stored and not known any more is left out.

    Raises SettingsError.
    """
    known = cast("Mapping[str, Any]", manifest.settings.get("properties", {}))
    stored = _stored(settings_of(home, manifest.name)) if known else {}
    return {**defaults(manifest.settings), **{key: stored[key] for key in known if key in stored}}


def change_settings(
    home: Path, manifest: Manifest, values: Mapping[str, Any], validate: Validator
) -> dict[str, Any]:
    """Set some of them; returns what holds now. Raises UsageError, SettingsError and StorageError."""
    known = cast("Mapping[str, Any]", manifest.settings.get("properties", {}))
    if unknown := [key for key in values if key not in known]:
        names = ", ".join(known) or "it has none"
        raise UsageError(f"{manifest.name} has no setting {unknown[0]!r}", f"its settings: {names}")
    checked = validate(manifest.settings, values)
    if isinstance(checked, Invalid):
        raise UsageError(f"a setting of {manifest.name} is wrong: {checked.detail}", checked.hint)
    path = settings_of(home, manifest.name)
    stored = {**_stored(path), **checked.value}
    data = (json.dumps(stored, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        raise UsageError(
            f"the settings of {manifest.name} would have {len(data):,} bytes, more than {_MOST_BYTES:,}",
            "keep what is large in the plugin's data folder",
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise storage_error(path, error, "try again") from None
    return read_settings(home, manifest)


def _stored(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(read_regular(path, _MOST_BYTES).decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}", f"mend or remove {path}") from None
    if isinstance(value, ParseFailure) or not isinstance(value, dict):
        said = value.detail if isinstance(value, ParseFailure) else "it holds no object"
        raise SettingsError(f"{path} cannot be read: {said}", f"mend or remove {path}")
    return cast("dict[str, Any]", value)
