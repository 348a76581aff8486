"""The user's folders for presets, voices and caches, by the conventions of each system."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAME = "voxcpm2"


def config_folder() -> Path:
    """Return the folder for files that the user writes: presets."""
    return _folder("XDG_CONFIG_HOME", ".config", "APPDATA")


def data_folder() -> Path:
    """Return the folder for data that the tool stores: voices."""
    return _folder("XDG_DATA_HOME", ".local/share", "LOCALAPPDATA")


def cache_folder() -> Path:
    """Return the folder for data that the tool can compute again."""
    return _folder("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA", mac="Caches")


def _folder(xdg: str, default: str, windows: str, mac: str = "Application Support") -> Path:
    """Return the user's folder. The XDG variable overrides it; a relative path there is ignored, as XDG specifies."""
    named = os.environ.get(xdg, "")
    if os.path.isabs(named):
        return Path(named) / NAME
    if sys.platform == "win32" and os.environ.get(windows):
        return Path(os.environ[windows]) / NAME
    if sys.platform == "darwin":
        return _home() / "Library" / mac / NAME
    return _home() / default / NAME


def _home() -> Path:
    """Return the home folder, or the root for a user without one, as in containers."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
