"""Dependencies: compatible licences, pinned versions for CI, and a correct minimum Python version."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# A program under Apache-2.0 may use, and be distributed with, packages under each of these. The LGPL and the MPL
# require that their part is replaceable and its source available: these are separate packages, installed from their own
# source.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "LGPL-2.1-or-later",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
    "Zlib",
}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="comes with Python 3.11")
    found: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    return found


@pytest.fixture(scope="module")
def needed(project: dict[str, Any]) -> dict[str, PackageMetadata]:
    """Return the packages installed with this one on this system, by name."""
    found: dict[str, PackageMetadata] = {}
    todo = list(map(Requirement, project["dependencies"]))
    while todo:
        required = todo.pop()
        name = canonicalize_name(required.name)
        extras = required.extras or {""}
        if name in found or not (
            required.marker is None or any(required.marker.evaluate({"extra": x}) for x in extras)
        ):
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:  # for another system, by a marker that `evaluate` does not know
            pytest.fail(f"{name} is required but not installed")
        found[name] = installed.metadata
        todo += [Requirement(line) for line in installed.requires or [] if "extra ==" not in line]
    return found


def licences(metadata: PackageMetadata) -> set[str]:
    """Return the SPDX licences that apply together; if there is a choice, an allowed one."""
    expression = metadata.get("License-Expression") or ""
    if not expression:
        names = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or [] if "License ::" in line]
        if names:
            return {CLASSIFIERS.get(name, name) for name in names}
        expression = metadata.get("License") or "unknown"
    parts = re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", ""))
    return {next((choice for choice in part.split(" OR ") if choice in ALLOWED), part) for part in parts}


def test_every_licence_is_compatible_with_ours(needed: dict[str, PackageMetadata]) -> None:
    assert {"torch", "numpy", "soundfile", "soxr", "typer", "pydantic"} <= needed.keys()
    foreign = {name: licences(metadata) - ALLOWED for name, metadata in needed.items()}
    foreign = {name: found for name, found in foreign.items() if found and not name.startswith(("nvidia-", "cuda-"))}
    assert foreign == {}, "only the CUDA libraries that torch installs may have NVIDIA's own licence"


def test_an_incompatible_licence_is_found() -> None:
    from email.message import Message

    metadata: Any = Message()
    metadata["License-Expression"] = "MIT AND (GPL-3.0-only OR Apache-2.0) AND AGPL-3.0-only"
    assert licences(metadata) - ALLOWED == {"AGPL-3.0-only"}
    metadata = Message()
    metadata["Classifier"] = "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"
    assert licences(metadata) - ALLOWED == {"GNU General Public License v3 (GPLv3)"}


def test_all_dependencies_are_pinned(needed: dict[str, PackageMetadata], repository: Path) -> None:
    lines = (repository / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"==[^*,]+", str(pin.specifier)) for pin in pins)
    pinned = {canonicalize_name(pin.name) for pin in pins}
    cuda = {name for name in needed if name.startswith(("nvidia-", "cuda-")) or name == "triton"}
    assert needed.keys() - pinned - cuda == set()


def test_the_minimum_python_version_can_parse_the_source(project: dict[str, Any], repository: Path) -> None:
    assert project["requires-python"] == ">=3.10"
    assert sys.version_info >= (3, 10)
    for path in (repository / "voxcli").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 10))
