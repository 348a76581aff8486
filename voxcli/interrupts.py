"""Handle Ctrl-C and SIGTERM: exit at once if there is nothing to clean up, else clean up first.

    nothing to clean up          one line on stderr, exit code 130 or 143
    in a `cleanup()` block       the signal waits, so that no resource is left half acquired or half released
    in `interruptible()` there   KeyboardInterrupt or SystemExit is raised, and the enclosing blocks clean up

Only the main thread receives signals. In other threads, and if `install` was not called (the package is used as a
library), the blocks do nothing.

This is the first module that the program imports. It imports nothing slow: not even `signal`, which imports enum, but
the built-in module behind it.
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

# 128 plus the signal number, as in shells, and the messages.
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
ENDED = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
# A second signal within this time is a duplicate: `timeout` and launchers forward what the terminal has already sent to
# the whole group, and keys bounce. A later one means that the user does not want to wait for the cleanup.
SAME_S = 1.0
AGAIN_S = 0.01
_EXTENSION = (ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__)
SHOW_CURSOR = b"\x1b[?25h"


class _State:
    """The state of signal handling.

    thread:  the thread that receives signals; None: not installed.
    blocks:  number of entered `cleanup()` blocks.
    opened:  number of entered `interruptible()` blocks.
    number:  number of the first signal.
    since:   when it arrived.
    waiting: it has not been raised yet.
    again:   the next signal is sent by `_again`.
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
    """Install handlers for SIGINT and SIGTERM.

    A signal that is ignored when the program starts stays ignored, for `nohup` and shells without job control.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _arrived)
    sys.unraisablehook = _unraisable
    _state.thread = get_ident()


class cleanup:
    """A block in which interrupts wait for an `interruptible()` block or for the end."""

    def __enter__(self) -> None:
        self._counts = _state.mine()
        if self._counts:
            _state.blocks += 1

    def __exit__(self, *exception: object) -> None:
        if self._counts:
            _state.blocks -= 1
            _settle()


class interruptible:
    """A part of a `cleanup()` block in which interrupts are raised."""

    def __enter__(self) -> None:
        self._counts = _state.mine()
        if self._counts:
            _state.opened += 1
            _settle()

    def __exit__(self, *exception: object) -> None:
        if self._counts:
            _state.opened -= 1


def check() -> None:
    """Raise a waiting interrupt in a `cleanup()` block. For long work, between parts that clean up themselves."""
    if _state.waiting and _state.mine():
        _raise()


def leave(code: int) -> "NoReturn":
    """Exit without Python's teardown, which with torch takes a quarter of the time of a short command."""
    from contextlib import suppress

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or full, which was reported
            stream.flush()
    if _traced():  # profilers and coverage write their data at interpreter exit
        raise SystemExit(code)
    os._exit(code)


def _traced() -> bool:
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return bool(sys.gettrace() or sys.getprofile() or (monitoring and any(map(monitoring.get_tool, range(6)))))


def _arrived(number: int, frame: "FrameType | None") -> None:
    """Handle a signal."""
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
    """True while an extension module is initialized: it may call Python, and torch aborts if that raises."""
    while frame is not None:
        if frame.f_code in _EXTENSION:
            return True
        frame = frame.f_back
    return False


def _again(number: int) -> None:
    """Run the handler again a moment later; runs in a thread."""
    time.sleep(AGAIN_S)
    _state.again = True
    interrupt_main(number)  # type: ignore[arg-type]


def _settle() -> None:
    """Exit or raise for a waiting signal, if that is allowed here."""
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
    """Exit from the handler. Writes to descriptors, because Python's streams may be in an inconsistent state."""
    code = 128 + _state.number
    line = f"voxcpm2: {ENDED[code]}\n".encode()
    if sys.stderr is not None:  # else descriptor 2 may be another file
        try:
            if os.isatty(2):  # start a new line after "^C" or a progress bar
                line = b"\n" + (SHOW_CURSOR if _state.blocks else b"") + line
            os.write(2, line)
        except OSError:
            pass
    os._exit(code)


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """Repeat an interrupt that was raised where Python drops exceptions: finalizers, weak reference callbacks."""
    if _state.number and issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        _state.waiting = True
        start_new_thread(_again, (_state.number,))
    else:
        sys.__unraisablehook__(lost)
