"""The contents of the checkout and the source package: no stray files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "LICENSE",
    "README.md",
    "constraints.txt",
    "presets",
    "pyproject.toml",
    "samples",
    "tests",
    "voxcli",
}
KINDS = {
    "",
    ".css",
    ".html",
    ".ipynb",
    ".js",
    ".json",
    ".jsonl",
    ".md",
    ".py",
    ".safetensors",
    ".sh",
    ".toml",
    ".txt",
    ".typed",
    ".wav",
    ".yaml",
}
WITHOUT_SUFFIX = {".gitignore", "LICENSE"}  # and the scripts of .ci


def strays(names: list[str]) -> list[str]:
    return [
        name
        for name in names
        if name.partition("/")[0] not in TOP_LEVEL
        or Path(name).suffix not in KINDS
        or not (Path(name).suffix or name in WITHOUT_SUFFIX or name.startswith(".ci/"))
    ]


def packed(root: Path) -> list[str]:
    """Return the files of the source package built from `root`, without PKG-INFO."""
    sdist = pytest.importorskip("hatchling.builders.sdist", reason="lists the source package")
    builder = sdist.SdistBuilder(str(root))
    return sorted(found.distribution_path.replace("\\", "/") for found in builder.recurse_included_files())


def test_the_checkout_contains_no_stray_files(repository: Path) -> None:
    if not (repository / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout, or git is missing")
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True).stdout
    names = listed.splitlines()
    assert strays(names) == []
    assert {name.partition("/")[0] for name in names} == TOP_LEVEL


def test_the_source_package_contains_no_stray_files(repository: Path) -> None:
    names = packed(repository)
    assert strays(names) == []
    assert {name.partition("/")[0] for name in names} | {".gitignore"} == TOP_LEVEL


def test_untracked_files_are_not_in_the_source_package(repository: Path, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(repository / name, tmp_path)
    for name in ("voxcli/__init__.py", "k.cubin", "notes.txt", "out/a.wav", "voxcli/k.cubin"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    shutil.copy(repository / ".gitignore", tmp_path)
    assert set(packed(tmp_path)) == {"LICENSE", "README.md", "pyproject.toml", "voxcli/__init__.py"}


def test_a_stray_file_is_found() -> None:
    names = ["README.md", "k.cubin", "voxcli/k.cubin", "voxcli/cli/core", "voxcli/cli/main.py", "notes.txt"]
    assert strays(names) == ["k.cubin", "voxcli/k.cubin", "voxcli/cli/core", "notes.txt"]
