"""Identify the processor of this machine. Does not import torch."""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
INTEL, AMD = "GenuineIntel", "AuthenticAMD"
# The fields of /proc/cpuinfo that decide which code a library selects: first those of x86, then those of ARM.
FIELDS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),
)


def vendor() -> str:
    """Return the processor's own vendor name, for example `GenuineIntel`; "" if it is unknown."""
    return _fields().get("vendor_id") or (INTEL if INTEL in platform.processor() else "")


def identity() -> str:
    """Return a text that is equal for processors for which libraries select the same code."""
    fields = _fields()
    known = [fields[name] for name in FIELDS if name in fields]
    return "\n".join(known or [platform.machine(), platform.processor()])


def _fields() -> dict[str, str]:
    """Return the fields of the first processor in /proc/cpuinfo; empty on other systems than Linux."""
    try:
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    lines = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}
