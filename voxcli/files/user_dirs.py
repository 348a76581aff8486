"""Where a person's own presets and voices lie, and what can be found out again: each system's folders for that."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAME = "voxcpm2"


def config_folder() -> Path:
    """For what a person writes: presets."""
    return _folder("XDG_CONFIG_HOME", ".config", "APPDATA")


def data_folder() -> Path:
    """For what the tool keeps: voices."""
    return _folder("XDG_DATA_HOME", ".local/share", "LOCALAPPDATA")


def cache_folder() -> Path:
    """For what the tool finds out again when it is lost."""
    return _folder("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA", mac="Caches")


def _folder(xdg: str, default: str, windows: str, mac: str = "Application Support") -> Path:
    """The XDG variable goes first on every system; as its specification says, a relative path in it does not count."""
    named = os.environ.get(xdg, "")
    if os.path.isabs(named):
        return Path(named) / NAME
    if sys.platform == "win32" and os.environ.get(windows):
        return Path(os.environ[windows]) / NAME
    if sys.platform == "darwin":
        return _home() / "Library" / mac / NAME
    return _home() / default / NAME


def _home() -> Path:
    """The root for a user whom the system does not know and who has no HOME, as containers have it too."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
