"""Programs that tests start: SIGINT is for them what it is at a terminal, however the tests themselves were started.

Under `nohup`, behind `&` in a script and on many CI systems SIGINT is ignored. A child inherits that, Python then has
no handler for it, and a test that sends one would wait for nothing.
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
    """What SIGINT does in this process, and to the children that are started meanwhile: a handler is its default there,
    SIG_IGN is inherited.
    """
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start(command: Sequence[Any], **options: Any) -> subprocess.Popen[str]:
    """Like Popen, with text for its pipes."""
    with sigint():
        return subprocess.Popen(command, text=True, **options)


def finished(command: Sequence[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run`, with text; any exit code will do."""
    with sigint():
        return subprocess.run(command, text=True, check=False, **options)
