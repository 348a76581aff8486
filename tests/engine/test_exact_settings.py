"""Exactness on other machines, as far as settings can stand for them: processors without AVX-512 or AVX2, another MKL.

Each setting is a process of its own, with one, two and three threads.
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
    "as it is": {},
    "torch for any x86": {"ATEN_CPU_CAPABILITY": "default"},
    "torch for AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "MKL for AVX2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "MKL of the user's": {"MKL_CBWR": "COMPATIBLE"},
    "MKL that may do as it likes": {"MKL_CBWR": ""},
    "oneDNN and MKL for AVX2, not strict": {
        "MKL_CBWR": "",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
LIBRARIES = "MKL_", "ATEN_", "ONEDNN_", "DNNL_", "OMP_"


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_clip_is_the_same_in_every_company(setting: str, repository: Path, demo_voice: Path) -> None:
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
    told: dict[str, Any] = json.loads(child.stdout)
    clips = {threads: of_threads.pop("together") for threads, of_threads in told["threads"].items()}
    for threads, found in told["threads"].items():
        assert found.pop("exact"), found
        assert found.pop("products") == [], (threads, found["ways"])
        ways = found.pop("ways")
        for company, digests in found.items():
            assert digests.items() <= clips[threads].items(), (company, threads, ways)
        assert len(set(clips[threads].values())) == 4
    strict = vendor() == INTEL and "MKL_CBWR" not in settings
    assert told["strict"] is strict
    if strict:
        assert clips["1"] == clips["2"] == clips["3"], "with this setting threads do not matter"
