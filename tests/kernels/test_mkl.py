"""MKL_CBWR is set on processors on which MKL guarantees exact products, and never overrides the user's value."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from voxcli.kernels import mkl
from voxcli.kernels.processor import INTEL, vendor


@pytest.mark.parametrize(
    ("before", "processor", "after"),
    [
        ({}, "GenuineIntel", {"MKL_CBWR": "AUTO,STRICT"}),
        ({"MKL_CBWR": "COMPATIBLE"}, "GenuineIntel", {"MKL_CBWR": "COMPATIBLE"}),
        ({"MKL_CBWR": ""}, "GenuineIntel", {"MKL_CBWR": ""}),
        ({}, "AuthenticAMD", {}),
        ({}, "", {}),
    ],
)
def test_strict_mode_is_requested_on_intel_unless_the_variable_is_set(
    before: dict[str, str], processor: str, after: dict[str, str]
) -> None:
    mkl.request_strict(before, processor=processor)
    assert before == after


@pytest.mark.parametrize("imports", ["voxcli.kernels.attention", "torch, voxcli.model.weights", "tests.conftest"])
def test_it_is_set_before_the_first_product_whatever_is_imported_first(imports: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    code = f"import os, {imports}\nprint(os.environ.get('MKL_CBWR'))"
    child = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert child.stdout.strip() == ("AUTO,STRICT" if vendor() == INTEL else "None")
