"""Ctrl-C and SIGTERM: the program ends at once where there is nothing to undo, and undoes it first where there is.

    nothing to undo              one line on stderr, exit code 130 or 143
    in a `cleanup()` block       wait, so that nothing is left half taken or half given back
    `interruptible()` in that    raise KeyboardInterrupt or SystemExit: the blocks around it clean up

Signals reach the main thread alone: in other threads, and where `install` was not called (the package used as a
library), the blocks do nothing.

This is the first module that the program imports, and it imports nothing that takes time: not `signal`, which brings
enum, but the built-in module behind it.
"""

import _signal as signal  # type: ignore[import-not-found]
import atexit
import os
import sys
import time
from _frozen_importlib_external import ExtensionFileLoader
from _thread import get_ident, interrupt_main, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

# 128 and the number of the signal, as shells have it, and how the line reads.
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
ENDED = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
# Within that time a second signal is the first one again: `timeout` and launchers pass on what the terminal has already
# sent to the whole group, and keys bounce. After it, whoever presses Ctrl-C again does not want to wait.
SAME_S = 1.0
AGAIN_S = 0.01
_EXTENSION = (ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__)
SHOW_CURSOR = b"\x1b[?25h"


class _State:
    """thread:  that signals reach; None: not installed.
    blocks:  `cleanup()` blocks that are entered;  opened: `interruptible()` parts of them that are.
    number:  of the signal that came first, `since` when.
    waiting: it has not been raised yet.  again: `_again` sent it, no one else.
    """

    def __init__(self) -> None:
        self.thread: int | None = None
        self.blocks = 0
        self.opened = 0
        self.number = 0
        self.since = 0.0
        self.waiting = False
        self.again = False

    def mine(self) -> bool:
        return self.thread == get_ident()

    def may_raise(self) -> bool:
        return self.blocks == self.opened


_state = _State()


def install() -> None:
    """Take SIGINT and SIGTERM over, for as long as the program runs.

    A signal that is ignored when the program begins stays ignored: that is how `nohup` and shells without job control
    ask for it.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _arrived)
    sys.unraisablehook = _unraisable
    _state.thread = get_ident()


class cleanup:
    """Inside, an interrupt waits for an `interruptible()` part, or for the end of the block."""

    def __enter__(self) -> None:
        self._counts = _state.mine()
        if self._counts:
            _state.blocks += 1

    def __exit__(self, *exception: object) -> None:
        if self._counts:
            _state.blocks -= 1
            _settle()


class interruptible:
    """Part of a `cleanup()` block that may end by an interrupt, as any statement outside may."""

    def __enter__(self) -> None:
        self._counts = _state.mine()
        if self._counts:
            _state.opened += 1
            _settle()

    def __exit__(self, *exception: object) -> None:
        if self._counts:
            _state.opened -= 1


def check() -> None:
    """Raise in a `cleanup()` block what waits there: between the parts of long work that clean up after themselves."""
    if _state.waiting and _state.mine():
        _raise()


def leave(code: int) -> "NoReturn":
    """End the process without the time that Python takes to tear down torch, a quarter of a short command's."""
    from contextlib import suppress

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or full, which was reported
            stream.flush()
    if _traced():  # profilers and coverage write what they saw when the interpreter ends
        raise SystemExit(code)
    os._exit(code)


def _traced() -> bool:
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return bool(sys.gettrace() or sys.getprofile() or (monitoring and any(map(monitoring.get_tool, range(6)))))


def _arrived(number: int, frame: "FrameType | None") -> None:
    """The handler."""
    again, _state.again = _state.again, False
    if not _state.number:
        _state.number, _state.since, _state.waiting = number, time.monotonic(), True
    elif not again and time.monotonic() - _state.since > SAME_S:
        _leave_now()
    if _state.waiting and _state.blocks and _in_extension(frame):
        start_new_thread(_again, (_state.number,))
    else:
        _settle()


def _in_extension(frame: "FrameType | None") -> bool:
    """Whether a module of C or C++ is being initialized, which may call Python: torch aborts when that raises."""
    while frame is not None:
        if frame.f_code in _EXTENSION:
            return True
        frame = frame.f_back
    return False


def _again(number: int) -> None:
    """In a thread: the handler runs once more, a moment later."""
    time.sleep(AGAIN_S)
    _state.again = True
    interrupt_main(number)  # type: ignore[arg-type]


def _settle() -> None:
    """Do what the signal that waits asks for, if this is a place for it."""
    if not _state.waiting:
        return
    if not _state.blocks:
        _leave_now()
    if _state.may_raise():
        _raise()


def _raise() -> "NoReturn":
    _state.waiting = False
    if _state.number == signal.SIGTERM:
        raise SystemExit(128 + _state.number)
    raise KeyboardInterrupt


def _leave_now() -> "NoReturn":
    """From the handler: streams of Python may be in the middle of something, descriptors are not."""
    code = 128 + _state.number
    line = f"voxcpm2: {ENDED[code]}\n".encode()
    if sys.stderr is not None:  # else the number is another file's
        try:
            if os.isatty(2):  # after what the terminal shows of Ctrl-C, and perhaps of a bar
                line = b"\n" + (SHOW_CURSOR if _state.blocks else b"") + line
            os.write(2, line)
        except OSError:
            pass
    os._exit(code)


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """An interrupt that was raised where Python drops exceptions, in a finalizer or a weak reference, comes again."""
    if _state.number and issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        _state.waiting = True
        start_new_thread(_again, (_state.number,))
    else:
        sys.__unraisablehook__(lost)
