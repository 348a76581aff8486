"""Start programs from tests with SIGINT handled as at a terminal, independently of how the tests were started.

Under `nohup`, with `&` in a script and on many CI systems SIGINT is ignored. Children inherit that, Python then
installs no handler, and a test that sends SIGINT would wait forever.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

VOXCPM2 = (sys.executable, "-m", "voxcli")

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None


@contextmanager
def sigint(handler: Handler = signal.default_int_handler) -> Iterator[None]:
    """Set the SIGINT handler of this process and of children started meanwhile.

    Children reset a handler to the default, but inherit SIG_IGN.
    """
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start(command: Sequence[Any], **options: Any) -> subprocess.Popen[str]:
    """Start a process like Popen, with text pipes."""
    with sigint():
        return subprocess.Popen(command, text=True, **options)


def finished(command: Sequence[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a process like `subprocess.run`, with text pipes; any exit code is accepted."""
    with sigint():
        return subprocess.run(command, text=True, check=False, **options)
