"""MKL is asked for exact products where it keeps that promise, and not where the user has asked for something else."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from voxcli.kernels import mkl

CPUINFO = "processor\t: 0\nvendor_id\t: {}\nmodel name\t: Some Processor\n\nprocessor\t: 1\nvendor_id\t: Other\n"


@pytest.mark.parametrize(
    ("before", "vendor", "after"),
    [
        ({}, "GenuineIntel", {"MKL_CBWR": "AUTO,STRICT"}),
        ({"MKL_CBWR": "COMPATIBLE"}, "GenuineIntel", {"MKL_CBWR": "COMPATIBLE"}),
        ({"MKL_CBWR": ""}, "GenuineIntel", {"MKL_CBWR": ""}),
        ({}, "AuthenticAMD", {}),
        ({}, "unknown", {}),
    ],
)
def test_what_is_set(before: dict[str, str], vendor: str, after: dict[str, str]) -> None:
    mkl.request_strict(before, vendor=vendor)
    assert before == after


@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD"])
def test_the_vendor_is_that_of_the_first_processor(
    vendor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(vendor))
    monkeypatch.setattr(mkl, "CPUINFO", tmp_path / "cpuinfo")
    assert mkl.processor_vendor() == vendor


def test_where_there_is_no_list_of_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mkl, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(platform, "processor", lambda: "Intel64 Family 6 Model 143 Stepping 8, GenuineIntel")
    assert mkl.processor_vendor() == "GenuineIntel"
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert mkl.processor_vendor() == ""
