"""What MKL, which multiplies for torch on x86, is asked for before it is first used. Knows no torch."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import MutableMapping
from pathlib import Path

VARIABLE = "MKL_CBWR"
# "Conditional numerical reproducibility", strict: an element of a product has the same bits for any number of rows and
# threads. Intel promises it for its own processors; elsewhere AUTO may mean code for much older ones.
STRICT = "AUTO,STRICT"
INTEL = "GenuineIntel"
CPUINFO = Path("/proc/cpuinfo")


def request_strict(environment: MutableMapping[str, str] = os.environ, *, vendor: str | None = None) -> None:
    """Set MKL_CBWR where that helps, unless the user has. MKL reads it at the first product, not when it is loaded."""
    if VARIABLE not in environment and (vendor or processor_vendor()) == INTEL:
        environment[VARIABLE] = STRICT


def processor_vendor() -> str:
    """As the processor names it, `GenuineIntel` for one; "" where it is unknown."""
    return _field("vendor_id") or (INTEL if INTEL in platform.processor() else "")


def _field(name: str) -> str:
    """Of the first processor in Linux's list."""
    try:
        text = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(rf"^{name}\s*:\s*(.*\S)", text, re.MULTILINE)
    return found[1] if found else ""
