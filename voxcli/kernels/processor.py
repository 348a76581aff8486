"""Which processor this is. Knows no torch."""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
INTEL, AMD = "GenuineIntel", "AuthenticAMD"
# What Linux lists for a processor that bears on the code libraries choose: of x86, then of ARM.
FIELDS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),
)


def vendor() -> str:
    """As the processor names it, `GenuineIntel` for one; "" where it is unknown."""
    return _fields().get("vendor_id") or (INTEL if INTEL in platform.processor() else "")


def identity() -> str:
    """The same for processors that libraries treat alike."""
    fields = _fields()
    known = [fields[name] for name in FIELDS if name in fields]
    return "\n".join(known or [platform.machine(), platform.processor()])


def _fields() -> dict[str, str]:
    """Of the first processor in Linux's list; none on other systems."""
    try:
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    lines = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}
