from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from voxcli.cluster import options
from voxcli.cluster.options import MAX_RETRIES, ClusterOptions, cluster_options
from voxcli.errors import InputError


@pytest.mark.parametrize(
    ("workers", "address", "max_retries", "found"),
    [
        (None, None, None, None),
        ("2", None, None, ClusterOptions(2, None, MAX_RETRIES)),
        ("auto", None, 0, ClusterOptions(None, None, 0)),
        (None, "auto", None, ClusterOptions(None, "auto", MAX_RETRIES)),
        ("16", "10.0.0.1:6379", 9, ClusterOptions(16, "10.0.0.1:6379", 9)),
    ],
)
def test_what_is_asked_for(
    workers: str | None,
    address: str | None,
    max_retries: int | None,
    found: ClusterOptions | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "missing", lambda extra: [])
    assert cluster_options(workers, address, max_retries) == found


@pytest.mark.parametrize(
    ("workers", "address", "message"),
    [("0", None, "--workers"), ("-1", None, "--workers"), ("two", None, "--workers"), ("2", " ", "--ray-address")],
)
def test_what_is_refused(workers: str, address: str | None, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "missing", lambda extra: [])
    with pytest.raises(InputError, match=message):
        cluster_options(workers, address, None)


def test_one_module_imports_ray(repository: Path) -> None:
    importing = set()
    for path in (repository / "voxcli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "ray" for name in names):
                importing.add(path.name)
    assert importing == {"ray_pool.py"}


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("voxcli.cli.main", "ray"),
        ("voxcli.run.batch", "ray"),
        ("voxcli.run.session", "ray"),
        ("voxcli.cluster.worker", "torch"),  # a worker sets the number of threads before it imports torch
        ("voxcli.cluster.driver", "torch"),
    ],
)
def test_what_loads_without_what(module: str, without: str, repository: Path) -> None:
    code = f"import sys, {module}; sys.exit({without!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=repository)
