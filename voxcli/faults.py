"""Fault injection for tests: named points in the code at which a fault can be armed.

    VOXCPM2_FAULT=rename:enospc:3          the third rename of a temporary file fails with "disk full"
    VOXCPM2_FAULT=line:sigkill:@poison     a process that starts a line with the word "poison" is killed, every time

In normal use nothing is armed, and a point is one lookup in an empty dictionary. Points are where the work on a step,
clip, voice or file begins, never inside it. This module imports no other module of the package.
"""

from __future__ import annotations

import errno
import os
import signal
import sys

VARIABLE = "VOXCPM2_FAULT"

POINTS = ("load", "voice", "encode", "probe", "line", "prefill", "step", "decode", "write", "fsync", "rename", "note", "listen")
ERRORS = {"enospc": errno.ENOSPC, "eacces": errno.EACCES, "enoent": errno.ENOENT, "enomem": errno.ENOMEM}
SIGNALS = ("sigint", "sigterm", "sigkill")
KINDS = ("error", "memory", "allocator", "nan", *ERRORS, *SIGNALS)

_armed: dict[str, tuple[str, int]] = {}  # point -> kind, and how many calls are let through first
_words: dict[str, str] = {}  # point -> word that must occur in `about`


def arm(faults: str) -> None:
    """Arm faults, separated by commas; "" for none. Raises ValueError for an unknown point or kind.

    point:kind        the next call of the point
    point:kind:n      the n-th call from now on
    point:kind:@word  every call whose `about` contains the word
    """
    _armed.clear()
    _words.clear()
    for fault in filter(None, faults.split(",")):
        point, kind, count, *_ = *fault.split(":"), "1", ""
        if count.startswith("@"):
            _words[point], count = count[1:], "1"
        if point not in POINTS or kind not in KINDS or not count.isdecimal():
            raise ValueError(f"{VARIABLE}={fault}: points are {', '.join(POINTS)}; kinds are {', '.join(KINDS)}")
        _armed[point] = kind, int(count) - 1


def point(name: str, about: str = "") -> bool:
    """Call a point: raises or sends a signal to the process if a fault is armed.

    about: a description of the work, to match words.

    Returns True if the caller must turn its numbers into NaN.
    """
    if not _armed or name not in _armed:
        return False
    kind, left = _armed[name]
    if name in _words:
        if _words[name] not in about:
            return False
    else:
        _armed[name] = kind, left - 1
        if left:
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
