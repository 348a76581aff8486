"""Fault injection for tests: named points in the code at which a fault can be armed.

    VOXCPM2_FAULT=rename:enospc:3          the third rename of a temporary file fails with "disk full"
    VOXCPM2_FAULT=line:sigkill:@poison     a process that starts a line with the word "poison" is killed, every time
    VOXCPM2_FAULT=clip:drop:@fog:1         the first clip of a line with the word "fog" lacks its middle

In normal use nothing is armed, and a point is one lookup in an empty dictionary. Points are where the work on a step,
clip, voice or file begins, never inside it. This module imports no other module of the package.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from dataclasses import dataclass

VARIABLE = "VOXCPM2_FAULT"

POINTS = (
    *("load", "voice", "encode", "probe", "line", "prefill", "step", "decode", "clip"),
    *("write", "fsync", "rename", "note", "listen"),
)
ERRORS = {"enospc": errno.ENOSPC, "eacces": errno.EACCES, "enoent": errno.ENOENT, "enomem": errno.ENOMEM}
SIGNALS = ("sigint", "sigterm", "sigkill")
SPOILED = ("drop", "repeat", "noise", "cut", "voice")  # how a clip is wrong, see `voxcli.audio.spoil`
KINDS = ("error", "memory", "allocator", "nan", *ERRORS, *SIGNALS, *SPOILED)


@dataclass
class _Fault:
    """word: must occur in `about`.  left: calls until it happens, once; None: it happens at every call."""

    kind: str
    word: str
    left: int | None


_armed: dict[str, list[_Fault]] = {}  # by point


def arm(faults: str) -> None:
    """Arm faults, separated by commas; "" for none. Raises ValueError for an unknown point or kind.

    point:kind          the next call of the point
    point:kind:n        the n-th call from now on
    point:kind:@word    every call whose `about` contains the word
    point:kind:@word:n  the n-th of these calls
    """
    _armed.clear()
    for fault in filter(None, faults.split(",")):
        point, kind, *more = *fault.split(":"), "", ""
        word = more.pop(0)[1:] if more[0].startswith("@") else ""
        count = more[0] if more[0] or word else "1"
        if point not in POINTS or kind not in KINDS or not (count.isdecimal() or (word and not count)):
            raise ValueError(f"{VARIABLE}={fault}: points are {', '.join(POINTS)}; kinds are {', '.join(KINDS)}")
        _armed.setdefault(point, []).append(_Fault(kind, word, int(count) if count else None))


def _due(name: str, about: str) -> str | None:
    """Return the kind of the fault that happens at this call of a point; None if there is none."""
    found = None
    for fault in _armed.get(name, ()):
        if fault.word in about:
            if fault.left is not None:
                fault.left -= 1
            if fault.left in (None, 0):
                found = found or fault.kind
    return found


def spoiled(name: str, about: str) -> str | None:
    """Call a point where a clip may be spoiled. Returns one of SPOILED, or None."""
    return _due(name, about) if _armed else None


def point(name: str, about: str = "") -> bool:
    """Call a point: raises or sends a signal to the process if a fault is armed.

    about: a description of the work, to match words.

    Returns True if the caller must turn its numbers into NaN.
    """
    if not _armed or (kind := _due(name, about)) is None:
        return False
    if kind == "error":
        raise RuntimeError(f"a fault at {name}")
    if kind == "memory":
        raise _out_of_memory(name)
    if kind == "allocator":  # what torch raises for a CPU
        raise RuntimeError(
            f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: at {name}"
        )
    if kind in ERRORS:
        raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]))
    if kind in SIGNALS:
        os.kill(os.getpid(), getattr(signal, kind.upper()))
    return kind == "nan"


def _out_of_memory(name: str) -> Exception:
    """Return torch's out-of-memory error if torch is loaded, else Python's."""
    kind = getattr(sys.modules.get("torch"), "OutOfMemoryError", MemoryError)
    error: Exception = kind(f"no memory at {name}")
    return error


arm(os.environ.get(VARIABLE, ""))
