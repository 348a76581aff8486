"""The seam where tests make things fail: named points on the way of a line, at which a fault can be armed.

    VOXCPM2_FAULT=rename:enospc:3          the third time that a file is to get its name, the disk is full
    VOXCPM2_FAULT=line:sigkill:@poison     whoever begins to speak a line with that word in it is killed, each time

Nothing is armed in normal use, and a point is then one look at an empty dictionary; none lies inside a step's work.
Points stand where work of a whole step, clip, voice or file begins. This module is a leaf.
"""

from __future__ import annotations

import errno
import os
import signal
import sys

VARIABLE = "VOXCPM2_FAULT"

POINTS = ("load", "voice", "encode", "probe", "line", "prefill", "step", "decode", "write", "fsync", "rename", "note")
ERRORS = {"enospc": errno.ENOSPC, "eacces": errno.EACCES, "enoent": errno.ENOENT, "enomem": errno.ENOMEM}
SIGNALS = ("sigint", "sigterm", "sigkill")
KINDS = ("error", "memory", "allocator", "nan", *ERRORS, *SIGNALS)

_armed: dict[str, tuple[str, int]] = {}  # point -> kind, and how many passings before it happens
_words: dict[str, str] = {}  # point -> the word by which its passings are told


def arm(faults: str) -> None:
    """`point:kind`; `point:kind:n` for the n-th passing from now on; `point:kind:@word` for each passing with work on
    something that has this word in it; several with commas between; "" for none. Raises ValueError.
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
    """Pass a point, at work on `about`: raises, or sends the process a signal, when that is armed.

    True: make your numbers NaN.
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
    """What torch raises where it is loaded, else what Python does."""
    kind = getattr(sys.modules.get("torch"), "OutOfMemoryError", MemoryError)
    error: Exception = kind(f"no memory at {name}")
    return error


arm(os.environ.get(VARIABLE, ""))
