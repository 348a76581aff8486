"""Exactness on other machines, simulated with settings of the libraries: no AVX-512, no AVX2, MKL not strict.

Each setting runs in a process of its own, with one, two and three threads. All but two of them are slow tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from voxcli.kernels.processor import INTEL, vendor

SETTINGS = {
    "default": {},
    "torch for any x86": {"ATEN_CPU_CAPABILITY": "default"},
    "torch for AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "MKL for AVX2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "the user's MKL_CBWR": {"MKL_CBWR": "COMPATIBLE"},
    "MKL not strict": {"MKL_CBWR": ""},
    "oneDNN and MKL for AVX2, not strict": {
        "MKL_CBWR": "",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
QUICK = "default", "MKL not strict"
LIBRARIES = "MKL_", "ATEN_", "ONEDNN_", "DNNL_", "OMP_"


@pytest.mark.parametrize(
    "setting",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SETTINGS],
)
def test_every_clip_is_the_same_in_every_batch(setting: str, repository: Path, demo_voice: Path) -> None:
    settings = SETTINGS[setting]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(LIBRARIES)}
    child = subprocess.run(
        [sys.executable, "-m", "tests.engine.exact_child", "1", "2", "3"],
        env=environment | settings | {"PYTHONPATH": str(repository), "GOMP_SPINCOUNT": "2000"},
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert child.returncode == 0, child.stderr
    result: dict[str, Any] = json.loads(child.stdout)
    clips = {threads: of_threads.pop("together") for threads, of_threads in result["threads"].items()}
    for threads, found in result["threads"].items():
        assert found.pop("exact"), found
        assert found.pop("products") == [], (threads, found["strategies"])
        strategies = found.pop("strategies")
        for batch, digests in found.items():
            assert digests.items() <= clips[threads].items(), (batch, threads, strategies)
        assert len(set(clips[threads].values())) == 4
    strict = vendor() == INTEL and "MKL_CBWR" not in settings
    assert result["strict"] is strict
    if strict:
        assert clips["1"] == clips["2"] == clips["3"], "with strict MKL the number of threads does not matter"
