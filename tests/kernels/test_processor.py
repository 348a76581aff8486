from __future__ import annotations

import platform
from pathlib import Path

import pytest

from voxcli.kernels import processor

X86 = (
    "processor\t: 0\nvendor_id\t: {vendor}\nmodel\t\t: 143\n"
    "model name\t: A Processor\ncpu MHz\t\t: {mhz}\nflags\t\t: fma avx2\n"
)
ARM = "processor\t: 0\nFeatures\t: asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"


@pytest.fixture
def cpuinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "CPUINFO", path)
    return path


@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD"])
def test_vendor_of_the_first_processor(cpuinfo: Path, vendor: str) -> None:
    cpuinfo.write_text(X86.format(vendor=vendor, mhz=2000) + "\n" + X86.format(vendor="Other", mhz=2000))
    assert processor.vendor() == vendor


def test_systems_without_cpuinfo(cpuinfo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not cpuinfo.exists()
    monkeypatch.setattr(platform, "processor", lambda: "Intel64 Family 6 Model 143 Stepping 8, GenuineIntel")
    assert processor.vendor() == "GenuineIntel"
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert (processor.vendor(), processor.identity()) == ("", "arm64\narm")


def test_the_identity_contains_only_fields_that_never_change(cpuinfo: Path) -> None:
    cpuinfo.write_text(X86.format(vendor="GenuineIntel", mhz=2000))
    assert processor.identity() == "GenuineIntel\n143\nA Processor\nfma avx2"
    cpuinfo.write_text(X86.format(vendor="GenuineIntel", mhz=2711.5))
    assert processor.identity() == "GenuineIntel\n143\nA Processor\nfma avx2"
    cpuinfo.write_text(ARM)
    assert processor.identity() == "0x41\n0xd40\nasimd sve"
